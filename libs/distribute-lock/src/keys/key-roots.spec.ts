import { findRoot } from './key-roots.js';

const body = { paramtype: 3, index: 1, property: undefined };
const id = { paramtype: 5, index: 0, property: 'id' };

function root(path: string, ...bound: (typeof body | typeof id)[]) {
  return findRoot(path.split('.'), `#{${path}}`, bound);
}

describe('findRoot', () => {
  it.each([
    ['arg0.id', 0, ['id']],
    ['arg10', 10, []],
    ['arg999.a.b', 999, ['a', 'b']],
  ])('reads %s as an argument of the code', (path, argument, names) => {
    expect(root(path)).toMatchObject({ source: 'code', transports: undefined, argument, names });
  });

  it.each(['arg', 'arg01', 'arg1000', 'arg-1', 'Arg0', 'BODY.id', 'req.body.id', 'toString', '__proto__', ''])(
    'rejects %j and lists the known roots',
    (path) => {
      expect(() => root(path)).toThrow(/which is unknown.*body, query, params, headers, ip, user, data, args/);
    },
  );

  it('finds the argument of a root by its kind and its property', () => {
    expect(root('body.id', id, body)).toMatchObject({ source: 'request', argument: 1, names: ['id'] });
    expect(root('params.id', id, body)).toMatchObject({ source: 'request', argument: 0, names: [] });
    expect(root('params.other', id, body)).toMatchObject({ argument: undefined, names: ['other'] });
    expect(root('user.id', id, body)).toMatchObject({ argument: undefined, names: ['id'] });
  });

  it('has the source "request" for an argument with a part of the request', () => {
    expect(root('arg0', id, body).source).toBe('request');
    expect(root('arg2', id, body).source).toBe('code');
  });
});
