// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.driver.Checkpoint;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.Priority;
import io.thalamus.npu.machine.Context;
import io.thalamus.npu.machine.Machine;
import io.thalamus.npu.machine.MachineFault;
import io.thalamus.npu.machine.Memory;
import io.thalamus.npu.machine.Schedule;
import io.thalamus.npu.machine.Sram;
import io.thalamus.npu.timing.DmaTiming;

/**
 * One command stream on its way over the device: it waits for its turn, runs, and gives the device
 * up before a command where more urgent work waits. Then it is put aside, or dropped and started
 * again, whichever takes the device less time. Used by one thread, once.
 */
final class StreamRun implements Machine.Checkpoint {
  private final Chip chip;
  private final DeviceQueue queue;
  private final DeviceClock clock;
  private final Program program;
  private final Machine machine;
  private final Memory memory;
  private final ExecutionConfig settings;
  private final DeviceQueue.Place place;
  private final DmaTiming dma;

  private Schedule schedule;

  /** The command that is next when the stream goes on. */
  private int next;

  /** The device's clock when the stream began or went on, and the cycles it had behind it then. */
  private long since;

  private long cyclesBefore;

  /**
   * The time at which others were last seen to have the device, by the clock of the caller and by
   * its own.
   */
  private long toldNanos;

  private long toldWork;
  private boolean isHolder;
  private Failed stopped;
  private long ended;
  private long worked;
  private long lostCycles;
  private int resumed;
  private int restarted;
  private long contextBytes;
  private long contextNanos;

  /**
   * A stream that arrives now.
   *
   * @param memory with the inputs, and the outputs in the end
   */
  StreamRun(
      Chip chip, Program program, Memory memory, Priority priority, ExecutionConfig settings) {
    this.chip = chip;
    this.queue = chip.queue();
    this.clock = chip.clock();
    this.program = program;
    this.machine = program.machine();
    this.memory = memory;
    this.settings = settings;
    this.place = queue.arrive(priority);
    this.dma = chip.architecture().dma(program.point());
    this.schedule = program.schedule();
  }

  /** Returns the time that the device worked for it, on its clock. */
  long workedNanos() {
    return worked;
  }

  /** Returns the time from the arrival to the end, on the device's clock. */
  long elapsedNanos() {
    return ended - place.arrived();
  }

  /**
   * Runs the stream to its end.
   *
   * @return null, or why it stopped before
   */
  Failed run() throws MachineFault {
    Failed late = Checkpoint.pass(settings);
    if (late == null) {
      late = enter();
    }
    if (late != null) {
      return late;
    }
    try {
      start();
      Sram sram = chip.sram();
      while (true) {
        next = machine.run(memory, sram, next, this);
        clock.advanceTo(timeBefore(next));
        if (stopped != null || next == machine.length()) {
          return stopped;
        }
        stopped = giveWay(sram);
        if (stopped != null) {
          return stopped;
        }
      }
    } finally {
      if (isHolder) {
        leave();
      }
      chip.count(
          new NpuActivity(
              1,
              worked,
              resumed,
              restarted,
              contextBytes,
              contextNanos,
              program.point().nanos(lostCycles),
              0));
    }
  }

  @Override
  public boolean pass(int command) {
    clock.advanceTo(timeBefore(command));
    stopped = queue.isClosed() ? Checkpoint.stopped() : Checkpoint.look(settings);
    // Each turn runs a command at least, or nothing would ever come to its end.
    return stopped == null && (command == next || !isUnwelcome());
  }

  private boolean isUnwelcome() {
    return queue.isUrgent() || settings.control().isPauseWanted();
  }

  private long timeBefore(int command) {
    return since + program.point().nanos(schedule.before(command) - cyclesBefore);
  }

  private Failed statusInQueue() {
    long work = clock.working();
    if (work != toldWork) {
      long now = settings.nanoTime();
      settings.control().spentOnOthers(now - toldNanos);
      toldNanos = now;
      toldWork = work;
    }
    return chip.isLeaving() ? Checkpoint.stopped() : Checkpoint.look(settings);
  }

  /** Lets others have the device, and waits until it is this stream's turn again. */
  private Failed giveWay(Sram sram) {
    Context context = machine.contextBefore(next);
    Schedule rest = schedule.stoppedBefore(next);
    long transfer = dma.cycles(context.bytes(), Math.max(1, context.blocks()));
    long done = schedule.before(next);
    // What was lost before counts again, so that no stream is dropped for ever.
    boolean isDropped =
        machine.isRestartable(next)
            && lostCycles + done < 2 * transfer + rest.cycles() - schedule.cycles();
    if (isDropped) {
      lostCycles += done;
    } else {
      context.save(sram, memory);
      move(transfer);
    }
    leave();
    // Nobody waits for what this thread holds while it is paused.
    Failed failed = Checkpoint.pass(settings);
    if (failed == null) {
      failed = enter();
    }
    if (failed != null) {
      return failed;
    }
    if (isDropped) {
      restarted++;
      next = 0;
      schedule = program.schedule();
    } else {
      resumed++;
      contextBytes += 2 * context.bytes();
      move(transfer);
      context.restore(memory, sram);
      schedule = rest;
    }
    start();
    return null;
  }

  private void move(long cycles) {
    long nanos = program.point().nanos(cycles);
    clock.advanceTo(clock.working() + nanos);
    contextNanos += nanos;
    worked += nanos;
  }

  private Failed enter() {
    toldNanos = settings.nanoTime();
    toldWork = clock.working();
    Failed failed = queue.enter(place, this::statusInQueue);
    if (failed == null) {
      isHolder = true;
      clock.advanceTo(clock.working() + chip.supply().begin(clock.working(), program.point()));
    }
    return failed;
  }

  private void start() {
    since = clock.working();
    cyclesBefore = schedule.before(next);
  }

  private void leave() {
    worked += program.point().nanos(schedule.before(next) - cyclesBefore);
    ended = clock.working();
    chip.supply().end(ended);
    isHolder = false;
    queue.leave(place);
  }
}
