/**
 * The mockup backend plugin.
 *
 * @packageDocumentation
 */

export { mockupPlugin as default } from './plugin';
