// Works through a graph of tasks with the tools alone, using the client of the official TypeScript SDK. It prints what it
// has seen, and fails if that is not what an agent may expect.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { STAGECOACH_API_URL: api, STAGECOACH_TOKEN: token } = process.env;

const client = new Client({ name: "life", version: "1.0.0" });
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", api), { requestInit: { headers } }));

// call calls a tool that must succeed. The client validates the result against the tool's schema.
async function call(name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`);
  return result.structuredContent;
}

// refused calls a tool that must refuse with a code.
async function refused(code, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(result.isError && result.content[0].text.startsWith(`${code}: `), `${name}: ${JSON.stringify(result)}`);
  return result._meta["stagecoach/problem"];
}

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
for (const name of ["status", "events_wait", "explain", "tasks_find", "task_get", "task_create", "task_claim", "task_heartbeat", "task_update"]) {
  assert.ok(names.includes(name), `${name} is not among ${names}`);
}
assert.ok(!names.includes("transactions_find"), "it is for administrators");

const standing = await call("status");
const workspace = standing.tasks.workspaces[0].id;
const rules = await call("explain", { workload: "task" });
assert.ok(rules.states.some((state) => state.state === "IN_PROGRESS"));

let { cursor } = await call("events_wait", { wait_seconds: 0 });
const graph = {
  workspace_id: workspace,
  idempotency_key: "life",
  tasks: [
    { ref: "plan", title: "Plan the house", priority: "high" },
    { ref: "walls", title: "Build the walls", blocked_by: ["plan"] },
    { ref: "roof", title: "Build the roof", blocked_by: ["walls"] },
  ],
};
const made = (await call("task_create", graph)).tasks;
assert.deepEqual((await call("task_create", graph)).tasks.map((task) => task.id), made.map((task) => task.id), "the same key");
const ours = new Set(made.map((task) => task.id));
const blocked = await refused("UNRESOLVED_BLOCKERS", "task_claim", { task_id: made[2].id, comment: "too early" });
assert.deepEqual(blocked.details.blockers, [made[1].id]);

// Models write values in other forms than the schema's, and name arguments that they leave empty.
const [first] = made;
for (const [name, args] of [
  ["tasks_find", { workspace_id: workspace, status: null, limit: "5", ready: "true" }],
  ["tasks_find", { workspace_id: workspace, status: "", limit: 5.0, ready: true }],
]) {
  assert.deepEqual((await call(name, args)).tasks.map((task) => task.id), [first.id], JSON.stringify(args));
}
assert.equal((await call("task_get", { task_id: Number(first.id) })).id, first.id);
const text = JSON.stringify([{ ref: "plan", title: "As text" }]);
const { tasks: [extra] } = await call("task_create", { workspace_id: workspace, tasks: text });
await call("task_update", { task_id: extra.id, action: "edit", description: "", labels: [], comment: "cleared" });
await call("task_update", { task_id: extra.id, action: "status", to: "CANCELLED", comment: "it was a try", idempotency_key: null });

const seen = [];
while (ours.size > 0) {
  const ready = (await call("tasks_find", { workspace_id: workspace, ready: true })).tasks;
  assert.ok(ready.length <= 1, "one is ready at a time");
  const { task } = await call("task_claim", { workspace_id: workspace, comment: "I take the next", wait_seconds: 25, lease_seconds: 60 });
  assert.ok(ours.has(task.id));
  assert.equal(task.status, "IN_PROGRESS");
  const mine = { task_id: task.id, fencing_token: task.fencing_token };
  assert.ok((await call("task_heartbeat", mine)).lease_expires_at);
  await refused("LEASE_LOST", "task_heartbeat", { task_id: task.id, fencing_token: task.fencing_token + 1 });
  const submitted = await call("task_update", { ...mine, action: "submit", result: { height: 3 }, comment: "see for yourself" });
  assert.ok(submitted.task.submission > 0);
  const done = await call("task_update", { ...mine, action: "status", to: "DONE", comment: "it stands", idempotency_key: `done-${task.id}` });
  assert.equal(done.task.status, "DONE");
  const { submitted: result } = await call("task_get", { task_id: task.id });
  assert.deepEqual(result.written_by_others.result, { height: 3 });
  ours.delete(task.id);
  seen.push(task.written_by_others.title);
}
assert.deepEqual(seen, graph.tasks.map((task) => task.title));

// The events tell the same story when resumed with a cursor.
const finished = new Set();
while (finished.size < made.length) {
  const news = await call("events_wait", { after: cursor, workload: "task", ids: made.map((task) => task.id) });
  cursor = news.cursor;
  news.events.filter((event) => event.to === "DONE").forEach((event) => finished.add(event.id));
}

const wrong = await refused("VALIDATION_ERROR", "task_get", { task_id: "no id" });
assert.equal(wrong.errors[0].field, "task_id");
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }));
console.log(JSON.stringify({ version: client.getServerVersion(), made: made.map((task) => task.id) }));
await client.close();
