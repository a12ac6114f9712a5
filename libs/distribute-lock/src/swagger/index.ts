export { ApiLockResponses, type ApiLockResponsesOptions } from './api-lock-responses.decorator.js';
