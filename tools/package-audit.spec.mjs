import { createServer } from 'node:http';
import { audit } from './package/audit.mjs';

/** A registry that responds to every audit with `status` and `answer`. */
async function withRegistry(status, answer, work) {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.statusCode = request.method === 'POST' ? status : 200;
    response.end(JSON.stringify(request.method === 'POST' ? answer : packument(request.url)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const registry = `http://127.0.0.1:${server.address().port}/`;
  return work(audit(undefined, '--registry', registry, '--fetch-retries=0')).finally(() => server.close());
}

describe('the audit of the library', () => {
  it('fails when a dependency has a known vulnerability', async () => {
    const advisory = {
      id: 1,
      url: 'https://example.com/1',
      title: 'canary',
      severity: 'high',
      vulnerable_versions: '<99',
    };

    await withRegistry(200, { ms: [advisory] }, (verdict) => expect(verdict).rejects.toThrow('ms (high)'));
  });

  it('passes without a known vulnerability', async () => {
    await withRegistry(200, {}, (verdict) =>
      expect(verdict).resolves.toBe('no known vulnerability in the packages of users'),
    );
  });

  it('is skipped, with the reason, when the registry has no endpoint for it', async () => {
    await withRegistry(405, {}, (verdict) => expect(verdict).resolves.toMatch(/^skipped, as .*405 Method Not Allowed/));
  });

  it('fails when the registry fails', async () => {
    await withRegistry(500, {}, (verdict) => expect(verdict).rejects.toThrow('returned no result: 500'));
  });
});

/** npm asks for the dependents of a reported package. */
function packument(url) {
  const name = decodeURIComponent(url.slice(1));
  return { name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name, version: '1.0.0' } } };
}
