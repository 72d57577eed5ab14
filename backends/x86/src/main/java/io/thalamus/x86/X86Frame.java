// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Tiles;
import io.thalamus.driver.tiles.Workers;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.x86.code.SystemCalls;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Argument;
import java.lang.foreign.MemorySegment;

/**
 * The memory of one run, and what its calls need. Used by one run at a time, whose threads call
 * functions that write to different places. Belongs to a prepared model, which frees the memory.
 */
final class X86Frame implements Tiles {
  private final MemorySegment memory;
  private final MemorySegment[] entries;
  private final long[] calls;

  /** As the program has them. */
  private final long[] own;

  private final Argument[] lent;
  private int lentCount;

  private final Job job = new Job();

  /** The call that is tile 0 of what is open. */
  private int first;

  /**
   * The frame of a run.
   *
   * @param program loaded: offsets into constants are addresses
   * @param memory of the run
   * @param entries by call, where its function begins
   */
  X86Frame(Program program, MemorySegment memory, MemorySegment[] entries) {
    this.memory = memory;
    this.entries = entries;
    own = program.calls();
    calls = own.clone();
    for (int number : program.large()) {
      calls[number] -= memory.address();
    }
    lent = new Argument[program.inputs().length + program.outputs().length];
  }

  /**
   * Has other memory stand in for the place of an argument, until {@link #takeBack}.
   *
   * @param bytes of the buffer, with {@link Program#SLACK} behind where the calls may read it
   * @return false if the argument cannot stand anywhere else
   */
  boolean lend(Argument argument, MemorySegment bytes) {
    if (argument.numbers().length == 0) {
      return false;
    }
    long distance = bytes.address() - memory.address() - argument.range().offset();
    for (int number : argument.numbers()) {
      calls[number] = own[number] + distance;
    }
    lent[lentCount++] = argument;
    return true;
  }

  /** Returns whether a buffer stands in for the place of an argument. */
  boolean isLent(Argument argument) {
    for (int i = 0; i < lentCount; i++) {
      if (lent[i] == argument) {
        return true;
      }
    }
    return false;
  }

  /** Stands on its own memory again. */
  void takeBack() {
    while (lentCount > 0) {
      for (int number : lent[--lentCount].numbers()) {
        calls[number] = own[number];
      }
    }
  }

  MemorySegment memory() {
    return memory;
  }

  Job job() {
    return job;
  }

  /** Runs some calls, each of them a tile; see {@link Job#run}. */
  Failed run(int from, int count, ExecutionConfig config, Workers workers, boolean isSeen) {
    first = from;
    return job.run(this, count, config, workers, isSeen);
  }

  @Override
  public void run(int participant, int tile) {
    call(first + tile);
  }

  void call(int index) {
    int at = index * Program.CALL;
    SystemCalls.call(
        entries[index],
        memory.address(),
        0,
        calls[at + 1],
        calls[at + 2],
        calls[at + 3],
        calls[at + Program.BLOCKS],
        calls[at + 4],
        calls[at + 5]);
  }
}
