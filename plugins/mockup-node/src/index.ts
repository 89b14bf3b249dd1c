/**
 * What other backend plugins and modules use of the mockup plugin.
 *
 * @packageDocumentation
 */

export * from './permissions';
export * from './store';
