import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { childrenOf, cpuTimeOf } from './cpuTime';

describe('The time of processes on a processor', () => {
  it('is nothing for a process that is not there', () => {
    expect(cpuTimeOf([2 ** 30])).toBeUndefined();
    expect(childrenOf(2 ** 30)).toEqual([]);
  });
});

// Others do not tell.
(process.platform === 'linux' ? describe : describe.skip)('On Linux it', () => {
  it('grows with what a process does, by itself and among others', () => {
    const before = cpuTimeOf([process.pid])!;
    const { user, system } = process.cpuUsage();
    for (let now = process.cpuUsage(); ; now = process.cpuUsage()) {
      if (now.user + now.system - user - system > 50_000) {
        break;
      }
    }
    expect(cpuTimeOf([process.pid])! - before).toBeGreaterThan(25_000);
    expect(cpuTimeOf([process.pid, process.ppid])).toBeGreaterThan(before);
  });

  it('is known of those that a process has started', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
    try {
      expect(childrenOf(process.pid)).toContain(child.pid);
    } finally {
      child.kill();
      await once(child, 'exit');
    }
    expect(childrenOf(process.pid)).not.toContain(child.pid);
  });
});
