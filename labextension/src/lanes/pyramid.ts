/**
 * Buckets over long tracks, halved level by level, so that a picture of a million spans costs as
 * much as one of a thousand. A bucket holds how long each kind was at work in it; every level sums
 * to the same total.
 */

import { type Index, KIND_COUNT, type Track } from "./tracks";

/** Below so many spans in all, the spans themselves are fast enough. */
export const PYRAMID_FROM_SPANS = 200_000;
/** Shorter tracks never need buckets. */
const TRACK_FROM_SPANS = 1_000;
const MOST_BUCKETS = 4_096;
const SPANS_PER_BUCKET = 8;
const FEWEST_BUCKETS = 128;

export interface Level {
  readonly bucket_ns: number;
  readonly count: number;
  /** KIND_COUNT numbers for each bucket, ns. */
  readonly busy: Float32Array;
}

/** From fine to coarse. */
export type Pyramid = readonly Level[];

export function withPyramids(index: Index): Index {
  if (index.span.length <= PYRAMID_FROM_SPANS) {
    return index;
  }
  const isLong = ({ from, to }: Track): boolean => to - from > TRACK_FROM_SPANS;
  const tracks = index.tracks.map((track) =>
    isLong(track) ? { ...track, pyramid: buildPyramid(index, track) } : track,
  );
  return { ...index, tracks };
}

export function buildPyramid(index: Index, track: Track): Pyramid {
  const wanted = (track.to - track.from) / SPANS_PER_BUCKET;
  let count = FEWEST_BUCKETS;
  while (count * 2 <= Math.min(wanted, MOST_BUCKETS)) {
    count *= 2;
  }
  const levels = [finest(index, track, count)];
  while ((levels.at(-1) as Level).count > FEWEST_BUCKETS / 2) {
    levels.push(halved(levels.at(-1) as Level));
  }
  return levels;
}

function finest(index: Index, track: Track, count: number): Level {
  const width = (index.last_ns - index.first_ns) / count;
  const busy = new Float32Array(count * KIND_COUNT);
  for (let at = track.from; at < track.to; at += 1) {
    const from = ((index.start[at] as number) - index.first_ns) / width;
    const to = ((index.end[at] as number) - index.first_ns) / width;
    const kind = index.kind[at] as number;
    const last = Math.min(count - 1, Math.floor(to));
    for (let bucket = Math.min(last, Math.floor(from)); bucket <= last; bucket += 1) {
      const part = Math.min(to, bucket + 1) - Math.max(from, bucket);
      const cell = bucket * KIND_COUNT + kind;
      busy[cell] = (busy[cell] as number) + Math.max(0, part) * width;
    }
  }
  return { bucket_ns: width, count, busy };
}

function halved(level: Level): Level {
  const count = level.count / 2;
  const busy = new Float32Array(count * KIND_COUNT);
  for (let cell = 0; cell < busy.length; cell += 1) {
    const bucket = Math.floor(cell / KIND_COUNT);
    const left = bucket * 2 * KIND_COUNT + (cell % KIND_COUNT);
    busy[cell] = (level.busy[left] as number) + (level.busy[left + KIND_COUNT] as number);
  }
  return { bucket_ns: level.bucket_ns * 2, count, busy };
}

/** The level whose buckets are about a pixel wide; null when spans must be drawn one by one. */
export function levelFor(pyramid: Pyramid | null, nsPerPixel: number): Level | null {
  const fine = pyramid?.[0];
  if (fine === undefined || fine.bucket_ns > nsPerPixel * 3) {
    return null;
  }
  return pyramid?.find((level) => level.bucket_ns >= nsPerPixel * 0.7) ?? pyramid?.at(-1) ?? null;
}
