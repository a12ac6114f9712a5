/** The text for the user once the demo runs. */
export function banner(description: string, urls: readonly string[]): string {
  const [first = '', second] = urls;
  return [
    '',
    'nestjs-distribute-lock demo',
    `  locks live in ${description}`,
    `  open ${first} to see the locks at work`,
    ...urls.map((url, index) => `  instance ${instanceName(index)}: ${url}   Swagger UI: ${url}/docs`),
    '',
    ...(second === undefined ? oneInstance(first) : twoInstances(first, second)),
    '',
    'Waits for its turn, sends a custom response, and refuses a write that is too late:',
    `  ${post(`${first}/post-test/wait`, '{"channel":"web"}')}`,
    `  ${post(`${first}/click`, '{}')}`,
    `  ${post(`${first}/fenced-write`, '{"amount":10,"staleToken":true}')}`,
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}

/** The names of instances are A and B. */
export function instanceName(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function twoInstances(first: string, second: string): string[] {
  return [
    'Two requests for one channel, one to each process: one works, the other is refused at once (409).',
    `  ${post(`${first}/post-test`, '{"channel":"web"}')} & ${post(`${second}/post-test`, '{"channel":"web"}')}; wait`,
  ];
}

function oneInstance(only: string): string[] {
  return [
    'Two requests for one channel at the same time: one works, the other is refused at once (409).',
    `  for i in 1 2; do ${post(`${only}/post-test`, '{"channel":"web"}')} & done; wait`,
  ];
}

function post(url: string, body: string): string {
  return `curl -i -H 'content-type: application/json' -d '${body}' ${url}`;
}
