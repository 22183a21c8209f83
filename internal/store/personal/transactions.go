package personal

var orders = Table{Name: "transactions", Keep: map[Reason]string{
	Nobody: "id workflow_started_at created_at updated_at row_version",
	Number: "user_id",
	Money: `hash receipt_key wallet lt amount_nano sender comment deposit_confirmed_at username stars quote_nano quoted_at recipient status
			attempt error_message error_class fragment_transaction_hash refund_due_nano refund_approved dust_nano needs_review review_reason
			processing_since stuck_alerted_at deferred_at deferred_until stopped_before taken_by failures retry_at given_up_at`,
}}
