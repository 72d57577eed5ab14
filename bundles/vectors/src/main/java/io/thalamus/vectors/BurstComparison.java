// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.Target.Answer;
import io.thalamus.vectors.Target.Arguments;
import io.thalamus.vectors.Target.Prepared;
import io.thalamus.vectors.Target.Settings;
import io.thalamus.vectors.Target.Status;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A prepared model whose executions by burst are repeated synchronously: both must write the same
 * bytes. As thread-safe as the other model, which it owns.
 *
 * @param prepared executes
 * @param tally counts the executions that were the same
 */
record BurstComparison(Prepared prepared, BurstTally tally) implements Prepared {
  @Override
  public Answer execute(Arguments arguments, Settings settings) {
    if (settings.mode() != Mode.BURST) {
      return prepared.execute(arguments, settings);
    }
    MemorySegment outputs = arguments.outputMemory().segment();
    byte[] before = outputs.toArray(ValueLayout.JAVA_BYTE);
    Answer answer = prepared.execute(arguments, settings);
    if (answer.status() != Status.DONE) {
      return answer;
    }
    MemorySegment byBurst = MemorySegment.ofArray(outputs.toArray(ValueLayout.JAVA_BYTE));
    outputs.copyFrom(MemorySegment.ofArray(before));
    Answer repeated = prepared.execute(arguments, settings.with(Mode.SYNC));
    long at = outputs.mismatch(byBurst);
    outputs.copyFrom(byBurst);
    if (repeated.status() != Status.DONE || !repeated.outputs().equals(answer.outputs())) {
      return Answer.failed(
          Status.FAILED,
          "by burst %s, synchronously %s %s %s"
              .formatted(
                  answer.outputs(), repeated.status(), repeated.message(), repeated.outputs()));
    }
    if (at >= 0) {
      return Answer.failed(
          Status.FAILED, "byte " + at + " of the outputs differs from the synchronous execution");
    }
    tally.countSame();
    return answer;
  }

  @Override
  public void close() {
    prepared.close();
  }
}
