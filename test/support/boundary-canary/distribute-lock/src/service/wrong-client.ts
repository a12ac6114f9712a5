export { Redis } from 'ioredis';
