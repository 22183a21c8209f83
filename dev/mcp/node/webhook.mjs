// Verifies requests to a webhook with the package standardwebhooks. Its input is a list of {secret, headers, body}.
import { Webhook } from "standardwebhooks";

let input = "";
for await (const part of process.stdin) input += part;

const results = JSON.parse(input).map(({ secret, headers, body }) => {
  try {
    return { type: new Webhook(secret).verify(body, headers).type };
  } catch (error) {
    return { error: error.message };
  }
});
console.log(JSON.stringify(results));
