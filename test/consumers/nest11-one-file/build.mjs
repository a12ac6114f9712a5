/** Bundles the application with all packages into one file, by esbuild and by webpack. */
import assert from 'node:assert/strict';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import webpack from 'webpack';

/** Packages that Nest loads only if an application uses them. */
const UNUSED = [
  ...['@nestjs/websockets', '@nestjs/websockets/socket-module', 'cache-manager'],
  ...['class-transformer', 'class-transformer/storage', 'class-validator'],
  ...['@grpc/grpc-js', '@grpc/proto-loader', 'amqp-connection-manager', 'amqplib', 'kafkajs', 'mqtt', 'nats'],
];
const entry = './dist/main.js';

await build({
  entryPoints: [entry],
  bundle: true,
  platform: 'node',
  external: UNUSED,
  outfile: 'bundles/esbuild.js',
  logLevel: 'error',
});

const stats = await promisify(webpack)({
  mode: 'production',
  target: 'node',
  entry,
  output: { path: new URL('bundles', import.meta.url).pathname, filename: 'webpack.js' },
  plugins: [new webpack.IgnorePlugin({ checkResource: (name) => UNUSED.includes(name) })],
  // Nest depends on the names of classes.
  optimization: { minimize: false },
});
const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
assert.deepEqual(errors, []);
// Nest itself causes warnings.
assert.deepEqual(
  warnings.filter(({ moduleName }) => moduleName?.includes('nestjs-distribute-lock')),
  [],
);
