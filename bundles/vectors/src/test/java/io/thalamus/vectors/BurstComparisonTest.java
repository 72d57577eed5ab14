// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.Target.Answer;
import io.thalamus.vectors.Target.Arguments;
import io.thalamus.vectors.Target.Prepared;
import io.thalamus.vectors.Target.Range;
import io.thalamus.vectors.Target.Settings;
import io.thalamus.vectors.Target.Status;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class BurstComparisonTest {
  private static final Settings SETTINGS = new Settings(Mode.BURST, false, Duration.ofSeconds(1));

  /** Writes 1, and another byte or another shape in one of the modes. */
  private record Model(Mode odd, boolean isOddInShape) implements Prepared {
    @Override
    public Answer execute(Arguments arguments, Settings settings) {
      boolean isOdd = settings.mode() == odd;
      byte value = (byte) (isOdd && !isOddInShape ? 2 : 1);
      assertEquals(0, arguments.outputMemory().segment().get(ValueLayout.JAVA_BYTE, 3));
      arguments.outputMemory().segment().set(ValueLayout.JAVA_BYTE, 3, value);
      Shape shape = Shape.of(isOdd && isOddInShape ? 2 : 1);
      return Answer.done(List.of(new OutputShape(shape, true)), Timing.NONE);
    }

    @Override
    public void close() {
      // It holds nothing.
    }
  }

  private static Answer execute(Prepared model, BurstTally tally, int expected) {
    try (SharedMemory in = SharedMemory.allocate(MemoryKind.ASHMEM, 8);
        SharedMemory out = SharedMemory.allocate(MemoryKind.ASHMEM, 8)) {
      List<Range> ranges = List.of(new Range(0, 8, Shape.NONE));
      Answer answer =
          new BurstComparison(model, tally)
              .execute(new Arguments(in, ranges, out, ranges), SETTINGS);
      assertEquals(expected, out.segment().get(ValueLayout.JAVA_BYTE, 3));
      return answer;
    }
  }

  @Test
  void equalBytesAreCounted() {
    BurstTally tally = new BurstTally();
    assertEquals(Status.DONE, execute(new Model(null, false), tally, 1).status());
    assertEquals(1, tally.same());
  }

  @Test
  void otherBytesAndShapesFail() {
    BurstTally tally = new BurstTally();
    Answer bytes = execute(new Model(Mode.BURST, false), tally, 2);
    assertEquals(Status.FAILED, bytes.status());
    assertTrue(bytes.message().startsWith("byte 3"), bytes.message());
    assertEquals(Status.FAILED, execute(new Model(Mode.SYNC, false), tally, 1).status());
    assertEquals(Status.FAILED, execute(new Model(Mode.SYNC, true), tally, 1).status());
    assertEquals(0, tally.same());
  }
}
