import { gzipSync } from 'node:zlib';

/** An archive as `tar` writes it, compressed. */
export function tarOf(files: { [path: string]: string | Buffer }): Buffer {
  const blocks = Object.entries(files).flatMap(([path, given]) => {
    const content = Buffer.from(given);
    const header = Buffer.alloc(512);
    header.write(path, 0);
    header.write('0000644\0', 100);
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0', 136);
    header.write('        ', 148);
    header.write('0', 156);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
    return [header, content, padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}
