import { jest } from '@jest/globals';
import { Cluster, type Redis } from 'ioredis';

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
