// Asks ClickHouse by the npm client with its defaults.
import { createClient } from "@clickhouse/client";
import { text } from "node:stream/consumers";

const given = JSON.parse(await text(process.stdin));
const client = createClient({
  url: `http://${given.host}:${given.port}`,
  username: given.user,
  password: given.password,
  database: given.database,
});
const answers = [];
for (const { sql, parameters } of given.questions) {
  const answer = await client.query({ query: sql, query_params: parameters, format: "JSONCompactEachRow" });
  answers.push((await answer.json()).map((row) => String(row[0])));
}
await client.close();
console.log(JSON.stringify(answers));
