export default async function tearDown() {
  await globalThis.testRedis?.stop();
}
