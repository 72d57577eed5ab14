// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.timing.OperatingPoint;
import java.util.List;

/**
 * The cycles that a stream has taken when it stops before one of its commands, and those before it
 * have ended. Immutable.
 *
 * @param ends by command: the cycle in which it and all before it have ended
 */
public record Schedule(
    List<Command> commands, Architecture architecture, OperatingPoint point, long[] ends) {
  /** A stream from its first command to its last without a stop. */
  public static Schedule of(
      Executable executable, Architecture architecture, OperatingPoint point) {
    List<Command> commands = executable.commands();
    Timeline timeline = new Timeline(architecture, point);
    long[] ends = new long[commands.size()];
    for (int i = 0; i < ends.length; i++) {
      timeline.issue(commands.get(i));
      ends[i] = timeline.cycles();
    }
    return new Schedule(commands, architecture, point, ends);
  }

  /** Returns the cycles until all commands before this one have ended. */
  public long before(int command) {
    return command == 0 ? 0 : ends[command - 1];
  }

  /** Returns the cycles of the whole stream. */
  public long cycles() {
    return before(ends.length);
  }

  /**
   * Returns the same stream with a stop: this command starts when all before it have ended.
   * Commands behind the next barrier take as long as ever.
   */
  public Schedule stoppedBefore(int command) {
    long[] stopped = ends.clone();
    Timeline rest = new Timeline(architecture, point);
    long shift = 0;
    int i = command;
    for (; i < stopped.length && !(commands.get(i) instanceof Command.Barrier); i++) {
      rest.issue(commands.get(i));
      stopped[i] = before(command) + rest.cycles();
      shift = stopped[i] - ends[i];
    }
    for (; i < stopped.length; i++) {
      stopped[i] += shift;
    }
    return new Schedule(commands, architecture, point, stopped);
  }
}
