/**
 * A catalog engine for each tenant.
 *
 * @packageDocumentation
 */

export {};
