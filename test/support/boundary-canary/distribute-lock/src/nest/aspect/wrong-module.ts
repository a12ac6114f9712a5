export { module } from '../module/module.js';
