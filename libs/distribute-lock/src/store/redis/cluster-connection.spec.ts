import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

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

  it('listens for each error of the sockets that the client opens to read the slots', async () => {
    const server = createServer();
    const open: Socket[] = [];
    server.on('connection', (socket) => open.push(socket));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const cluster = new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true });
    const connection = new ClusterConnection(cluster, processClock);
    const node = new Redis({ host: '127.0.0.1', port, lazyConnect: true });
    cluster.emit('+node', node);
    // As `Cluster.getInfoFromNode` of the client does.
    const copy = node.duplicate({ lazyConnect: true, retryStrategy: () => null });
    copy.on('error', () => undefined);
    copy.connect().catch(() => undefined);
    await once(copy, 'connect');

    copy.stream.emit('error', new Error('self-signed certificate'));
    const listeners = copy.stream.listenerCount('error');
    connection.close();
    for (const socket of open) socket.destroy();
    server.close();

    // Without a listener, a second error is thrown.
    expect(listeners).toBeGreaterThan(0);
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
