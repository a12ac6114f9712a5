export { script } from '../scripts/generated/lua-scripts.js';
