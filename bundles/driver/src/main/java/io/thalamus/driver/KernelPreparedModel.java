// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.model.Model;
import java.lang.foreign.Arena;

/** A program with the memory it runs in. */
final class KernelPreparedModel extends FramedPreparedModel<Frame> {
  private final GraphProgram program;
  private final Arena arena = Arena.ofShared();

  KernelPreparedModel(Model model, GraphProgram program, DeviceInfo info) {
    super(model, info);
    this.program = program;
  }

  @Override
  protected Frame newFrame() {
    return new Frame(
        program, arena.allocate(Math.max(1, program.memory().size()), MemoryPlan.ALIGNMENT));
  }

  @Override
  protected void release() {
    arena.close();
  }

  @Override
  protected ExecutionResult run(
      Frame frame, RequestArguments arguments, ExecutionConfig config, long startNanos) {
    return new GraphExecution(program, frame, arguments, config, startNanos).run();
  }
}
