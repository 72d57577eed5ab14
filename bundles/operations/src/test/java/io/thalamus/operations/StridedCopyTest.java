// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Shape;
import io.thalamus.operations.StridedCopy.Block;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Joined dimensions move the same elements as a loop for each dimension does. */
class StridedCopyTest {
  private static final int CELLS = 4096;

  private static int[] run(StridedCopy copy) {
    int[] target = new int[CELLS];
    copy.forEachRun(
        (from, to) -> {
          for (int i = 0; i < copy.runLength(); i++) {
            target[(int) (to + i * copy.runTargetStride())] =
                1 + (int) (from + i * copy.runSourceStride());
          }
        });
    return target;
  }

  private static int[] runInBlocks(StridedCopy copy) {
    int[] target = new int[CELLS];
    copy.forEachBlock(
        block -> {
          for (int run = 0; run < block.runs(); run++) {
            Block one = block.run(run);
            for (int i = 0; i < copy.runLength(); i++) {
              target[(int) (one.target() + i * copy.runTargetStride())] =
                  1 + (int) (one.source() + i * copy.runSourceStride());
            }
          }
        });
    return target;
  }

  private static int[] runInPieces(StridedCopy copy, int most) {
    int[] target = new int[CELLS];
    copy.forEachPiece(
        most,
        (from, to, count) -> {
          assertTrue(count > 0 && count <= most, () -> count + " of " + most);
          for (int i = 0; i < count; i++) {
            int at = (int) (to + i * copy.runTargetStride());
            target[at] = 1 + (int) (from + i * copy.runSourceStride());
          }
        });
    return target;
  }

  private static void loop(
      int[] dimensions, int axis, long from, long[] by, long to, long[] step, int[] target) {
    if (axis == dimensions.length) {
      target[(int) to] = 1 + (int) from;
      return;
    }
    for (int i = 0; i < dimensions[axis]; i++) {
      loop(dimensions, axis + 1, from + i * by[axis], by, to + i * step[axis], step, target);
    }
  }

  @Test
  void randomBlocks() {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("StridedCopyTest seed " + seed);
    Random random = new Random(seed);
    for (int round = 0; round < 3000; round++) {
      int[] dimensions = random.ints(random.nextInt(6), 0, 4).toArray();
      long[] dense = StridedCopy.strides(dimensions);
      long[] from = dense.clone();
      for (int i = 0; i < from.length; i++) {
        switch (random.nextInt(4)) {
          case 0 -> from[i] = 0;
          case 1 -> from[i] = -from[i];
          case 2 -> from[i] = random.nextInt(9);
          default -> {}
        }
      }
      if (random.nextBoolean()) {
        long[] mixed = dense.clone();
        for (int i = 0; i + 1 < mixed.length; i += 2) {
          long swapped = mixed[i];
          mixed[i] = mixed[i + 1];
          mixed[i + 1] = swapped;
        }
        dense = mixed;
      }
      int[] expected = new int[CELLS];
      loop(dimensions, 0, 2000, from, 7, dense, expected);
      StridedCopy copy = StridedCopy.of(dimensions, 2000, from, 7, dense);
      assertArrayEquals(
          expected, run(copy), () -> "seed " + seed + " " + Arrays.toString(dimensions) + copy);
      assertArrayEquals(expected, runInBlocks(copy), () -> "blocks, seed " + seed + " " + copy);
      long written = Arrays.stream(expected).filter(element -> element != 0).count();
      if (written < Arrays.stream(dimensions).asLongStream().reduce(1, (a, b) -> a * b)) {
        continue; // of what is written twice, only the order of runs says what stays
      }
      assertArrayEquals(
          expected,
          runInPieces(copy, 1 + random.nextInt(5)),
          () -> "in pieces: seed " + seed + " " + Arrays.toString(dimensions) + copy);
    }
  }

  @Test
  void aTranspositionReadsNeighboursAfterEachOther() {
    StridedCopy copy = StridedCopy.gather(new int[] {3, 5}, 0, new long[] {1, 3});
    List<Long> read = new ArrayList<>();
    copy.forEachPiece(2, (from, to, count) -> read.add(from));
    assertEquals(List.of(0L, 1L, 2L, 6L, 7L, 8L, 12L, 13L, 14L), read);
  }

  @Test
  void onlyACopyOfEverythingInItsOrderIsWhole() {
    int[] block = {2, 3};
    long[] dense = StridedCopy.strides(block);
    assertTrue(StridedCopy.gather(block, 0, dense).isWhole(6));
    assertTrue(StridedCopy.gather(new int[] {4, 1}, 0, new long[] {1, 9}).isWhole(4), "a column");
    assertTrue(StridedCopy.gather(new int[0], 0, new long[0]).isWhole(1), "one element");
    assertFalse(StridedCopy.gather(block, 0, dense).isWhole(12), "half of them");
    assertFalse(StridedCopy.gather(block, 1, dense).isWhole(6), "from the second on");
    assertFalse(StridedCopy.gather(block, 0, new long[] {1, 2}).isWhole(6), "transposed");
    assertFalse(StridedCopy.gather(block, 0, new long[] {4, 1}).isWhole(6), "parts of rows");
    assertFalse(StridedCopy.gather(new int[] {4}, 3, new long[] {-1}).isWhole(4), "reversed");
    assertFalse(StridedCopy.gather(new int[] {4}, 0, new long[] {0}).isWhole(4), "repeated");
    assertFalse(StridedCopy.of(block, 0, dense, 1, dense).isWhole(6), "to the second on");
  }

  @Test
  void aDenseCopyIsOneRun() {
    Shape shape = Shape.of(2, 3, 1, 4);
    StridedCopy copy = StridedCopy.gather(shape.toArray(), 0, StridedCopy.strides(shape));
    assertEquals(24, copy.runLength());
    assertEquals(1, copy.runSourceStride());
    assertEquals(1, copy.runTargetStride());
  }

  @Test
  void aTransposeKeepsItsAxes() {
    StridedCopy copy = StridedCopy.gather(new int[] {3, 2}, 0, new long[] {1, 3});
    assertEquals(2, copy.runLength());
    assertEquals(3, copy.runSourceStride());
  }

  @Test
  void aBlockWithoutDimensionsIsOneElement() {
    StridedCopy copy = StridedCopy.of(new int[0], 5, new long[0], 9, new long[0]);
    int[] expected = new int[CELLS];
    expected[9] = 6;
    assertArrayEquals(expected, run(copy));
  }
}
