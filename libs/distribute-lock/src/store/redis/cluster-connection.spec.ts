import { EventEmitter } from 'node:events';

import { jest } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';

import { processClock } from '../../runtime/clock.js';
import { ClusterConnection } from './cluster-connection.js';

describe('ClusterConnection.inOneWrite', () => {
  it('releases the sockets of the nodes when sending fails', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const connection = new ClusterConnection(cluster, processClock);
    const stream = { cork: jest.fn(), uncork: jest.fn() };
    jest.spyOn(cluster, 'nodes').mockReturnValue([{ stream } as unknown as Redis]);
    const send = (): never => {
      throw new Error('not sent');
    };

    expect(() => connection.inOneWrite(send)).toThrow('not sent');

    expect(stream.cork).toHaveBeenCalledTimes(1);
    expect(stream.uncork).toHaveBeenCalledTimes(1);
    connection.close();
  });
});

describe('ClusterConnection', () => {
  it('leaves no link and no listener to a node that the client has replaced', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const connection = new ClusterConnection(cluster, processClock);
    const node = (): Redis => new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true });
    const [old, other] = [node(), node()];
    const listeners = (): number => old.eventNames().reduce((sum, name) => sum + old.listenerCount(name), 0);
    const before = listeners();

    // As `ConnectionPool.recreate` of the client does.
    cluster.emit('+node', old);
    expect(listeners()).toBeGreaterThan(before + 1);
    cluster.emit('+node', other);
    cluster.emit('-node', old);

    // A late error must still have a listener.
    expect(listeners()).toBe(before + 1);
    connection.close();
  });

  it('listens for each error of the sockets that the client opens to read the slots', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const connection = new ClusterConnection(cluster, processClock);
    const node = new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true });
    const stream = new EventEmitter();
    const copy = Object.assign(new EventEmitter(), { stream, disconnect: jest.fn() });
    jest.spyOn(node, 'duplicate').mockReturnValue(copy as unknown as Redis);
    cluster.emit('+node', node);

    // As `Cluster.getInfoFromNode` of the client does.
    node.duplicate().on('error', () => undefined);
    copy.emit('error', new Error('self-signed certificate'));

    expect(() => stream.emit('error', new Error('tlsv1 alert decode error'))).not.toThrow();
    connection.close();
  });

  it('asks no node for its error after the close', async () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    jest.spyOn(cluster, 'nodes').mockReturnValue([new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true })]);
    const connection = new ClusterConnection(cluster, processClock);
    const connect = jest.spyOn(Redis.prototype, 'connect');

    connection.close();
    cluster.emit('error', new Error('All nodes failed.'));
    await new Promise(setImmediate);

    expect(connect).not.toHaveBeenCalled();
    connect.mockRestore();
  });
});
