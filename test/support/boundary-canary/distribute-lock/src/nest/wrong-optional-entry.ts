export { terminus } from '../terminus/terminus.js';
