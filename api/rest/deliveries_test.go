package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/delivery"
)

func (w *rig) deliver(token string, file delivery.File, key string) reply {
	w.t.Helper()
	return w.send(token, "POST", "/v1/deliveries", map[string]any{"file_id": fmt.Sprint(file.ID)}, "Idempotency-Key", key)
}

func TestADelivery(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/films/a.mkv", 1000)
	made := w.deliver(w.adaToken, file, "key-1").ok(http.StatusCreated).body
	id := made["id"].(string)

	for name, want := range map[string]any{
		"state": "QUEUED", "attempt": 0.0, "file_id": fmt.Sprint(file.ID), "file_name": "a.mkv", "size": 1000.0, "bytes_sent": 0.0,
		"place_in_line": 1.0, "last_error": nil, "user_id": fmt.Sprint(w.ada.ID), "source": "api", "message_id": nil,
		"cancel_requested": false, "workflow_id": "delivery/" + deliveries.DeliveryKey(w.ada.ID, file.ID, "key-1"),
	} {
		if got, ok := made[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}

	if fmt.Sprint(made["allowed_actions"]) != "[cancel]" || made["created_at"] == nil || made["updated_at"] == nil {
		t.Errorf("delivery %v", made)
	}
	if next := w.deliver(w.bobToken, file, "key-1").ok(http.StatusCreated).body; next["place_in_line"] != 2.0 {
		t.Errorf("the next one: %v", next)
	}
	if len(w.temporal.started) != 2 {
		t.Errorf("started %v", w.temporal.started)
	}

	cancelled := w.send(w.adaToken, "POST", "/v1/deliveries/"+id+"/cancel", nil).ok(http.StatusOK).body
	if cancelled["state"] != "CANCELLED" || cancelled["place_in_line"] != nil || fmt.Sprint(cancelled["allowed_actions"]) != "[]" ||
		cancelled["last_error"] != string(fault.CancelledByUser) {
		t.Errorf("cancelled %v", cancelled)
	}

	again := w.send(
		w.adaToken, "POST", "/v1/deliveries/"+id+"/cancel", nil,
	).refused(http.StatusConflict, fault.InvalidTransition, "")
	if details := again.body["details"].(map[string]any); details["current"] != "CANCELLED" || details["requested"] != "cancel" {
		t.Errorf("details %v", details)
	}
	if rows := w.audited(); len(rows) != 0 {
		t.Errorf("people who use what is theirs are audited: %v", rows)
	}
}

func TestFilesThatCannotBeDelivered(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	folder, err := w.store.Deliveries.SaveFiles(t.Context(), []delivery.File{{Path: "/d", Parent: "/", Name: "d", IsFolder: true}})
	if err != nil {
		t.Fatal(err)
	}

	gone := w.file("/gone", 1)
	w.exec(`UPDATE files SET gone = true WHERE id = $1`, gone.ID)
	good := w.file("/good", 1)
	w.deliver(w.adaToken, folder[0], "k").refused(http.StatusUnprocessableEntity, fault.FileIsFolder, "file_id")
	w.deliver(w.adaToken, w.file("/empty", 0), "k").refused(http.StatusUnprocessableEntity, fault.FileEmpty, "file_id")
	w.deliver(w.adaToken, w.file("/big", 2_097_152_001), "k").refused(
		http.StatusUnprocessableEntity, fault.FileTooBig, "file_id",
	)
	w.deliver(w.adaToken, w.file("/limit", 2_097_152_000), "k").ok(http.StatusCreated)
	w.deliver(w.adaToken, gone, "k").refused(http.StatusNotFound, fault.FileNotFound, "file_id")
	w.deliver(w.adaToken, delivery.File{ID: 999_999}, "k").refused(http.StatusNotFound, fault.FileNotFound, "file_id")
	w.exec(`UPDATE users SET telegram_id = NULL WHERE id = $1`, w.bob.ID)
	w.deliver(w.bobToken, good, "k").refused(http.StatusConflict, fault.NoTelegramChat, "")
}
