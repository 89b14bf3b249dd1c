// Says where the time in a CPU profile of Node.js went, by package.
//
//   node --require @backstage/cli/config/nodeTransform.cjs \
//     benchmarks/dev/summarizeProfile.ts <file.cpuprofile> [seconds]
//
// With seconds, of the end of the profile only: a server loads its code first.

import { readFileSync } from 'node:fs';

interface Profile {
  nodes: Array<{
    id: number;
    callFrame: { functionName: string; url: string };
  }>;
  samples: number[];
  timeDeltas: number[];
}

const SHOWN = 25;
const MICROSECONDS = 1e6;

const [file, seconds = 'Infinity'] = process.argv.slice(2);
const profile: Profile = JSON.parse(readFileSync(file, 'utf8'));
const places = new Map(
  profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]),
);

const times = new Map<string, number>();
let left = Number(seconds) * MICROSECONDS;
for (let index = profile.samples.length - 1; index >= 0 && left > 0; index--) {
  const place = places.get(profile.samples[index]) ?? '?';
  const time = profile.timeDeltas[index];
  times.set(place, (times.get(place) ?? 0) + time);
  left -= time;
}
const idle = times.get('(idle)') ?? 0;
times.delete('(idle)');
const busy = [...times.values()].reduce((sum, time) => sum + time, 0);

print(`${inSeconds(busy)} s busy, ${inSeconds(idle)} s idle; of the former:`);
[...times]
  .sort(([, a], [, b]) => b - a)
  .slice(0, SHOWN)
  .forEach(([place, time]) =>
    print(`${((100 * time) / busy).toFixed(1).padStart(5)} %  ${place}`),
  );

function placeOf({
  functionName,
  url,
}: Profile['nodes'][number]['callFrame']): string {
  const [packageName] =
    /(?<=.*node_modules\/)(?:@[^/]+\/)?[^/]+(?!.*node_modules\/)/.exec(url) ??
    [];
  const [ours] =
    /(?:plugins|packages|benchmarks|migrations)\/.*/.exec(url) ?? [];
  // What Node.js itself does has no address.
  return packageName ?? ours ?? (url || functionName);
}

function inSeconds(microseconds: number): string {
  return (microseconds / MICROSECONDS).toFixed(1);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
