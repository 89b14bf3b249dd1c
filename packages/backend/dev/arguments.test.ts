import { resolve } from 'path';
import { backendArguments } from './arguments';

describe('backendArguments', () => {
  it('passes configuration files on, whatever folder the backend runs in', () => {
    expect(
      backendArguments(['--config', 'a.yaml', '--config=/b.yaml']),
    ).toEqual(['--config', resolve('a.yaml'), '--config', '/b.yaml']);
  });

  it('refuses what it does not know, on one line', () => {
    expect(() => backendArguments(['--confg', 'a.yaml'])).toThrow(
      /^Unknown option '--confg'.*Usage: npm start -- \[--config <file>\]\.\.\.$/,
    );
  });
});
