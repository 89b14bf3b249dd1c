/**
 * Stand-ins for the mockup store in tests of other backend plugins.
 *
 * @packageDocumentation
 */

export { mockupStoreServiceMock } from './mockupStoreServiceMock';
