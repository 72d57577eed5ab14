// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Tiles;
import io.thalamus.x86.code.SystemCalls;
import io.thalamus.x86.compile.Program;
import java.lang.foreign.MemorySegment;

/**
 * The memory of one run, and what its calls need. Used by one run at a time, whose threads call
 * functions that write to different places. Belongs to a prepared model, which frees the memory.
 */
final class X86Frame implements Tiles {
  private final MemorySegment memory;
  private final long constants;
  private final MemorySegment[] entries;
  private final long[] calls;
  private final Job job = new Job();

  /** The call that is tile 0 of what is open. */
  private int first;

  /**
   * The frame of a run.
   *
   * @param memory of the run
   * @param constants their address
   * @param entries by call, where its function begins
   */
  X86Frame(Program program, MemorySegment memory, long constants, MemorySegment[] entries) {
    this.memory = memory;
    this.constants = constants;
    this.entries = entries;
    calls = program.calls();
  }

  MemorySegment memory() {
    return memory;
  }

  Job job() {
    return job;
  }

  /** Makes some calls, each of them a tile, available to others. */
  void open(int from, int count) {
    first = from;
    job.open(this, count);
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
        constants,
        calls[at + 1],
        calls[at + 2],
        calls[at + 3],
        calls[at + 4]);
  }
}
