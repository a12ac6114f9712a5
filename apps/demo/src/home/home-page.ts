/** The first page, with links and an example. `host` is the address that the reader used. */
export function homePage(instance: string, host: string): string {
  const url = escaped(`http://${host}/post-test`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>nestjs-distribute-lock demo</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
  pre { background: #f3f3f3; padding: 1rem; overflow-x: auto; }
</style>
<h1>nestjs-distribute-lock demo</h1>
<p>This is instance <b>${escaped(instance)}</b>. All routes are in <a href="docs">Swagger UI</a>.</p>
<p>Send this twice at the same time: one request works for some time, the other is refused at once with 409.</p>
<pre>curl -i -H 'content-type: application/json' -d '{"channel":"web"}' ${url}</pre>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
