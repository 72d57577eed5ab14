// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.osgi.annotation.versioning.ProviderType;

/**
 * One execution of a compilation: set the arguments, then start it once. Not thread-safe until it
 * is started; a second start ends with BAD_STATE.
 *
 * <p>Only a {@linkplain #setReusable reusable} execution, and one that was answered with
 * RESOURCE_EXHAUSTED_TRANSIENT, may be started again, in any way; all that was set stays, and may
 * be set anew. If a full queue refused it, the runtime keeps room for it from {@link
 * ExecutionReport#retryAfter} on, for a second. Another execution has no part in that. Every other
 * answer is final, and so is a future that is cancelled before the execution begins.
 *
 * <p>Arguments in plain memory must not be touched from the start until the result is there, nor
 * their memory be closed. A device that computes in the calling thread reads and writes them in
 * place if they are off the heap and aligned for their elements; otherwise they are copied in and
 * out. The contents of outputs are undefined after a failure. {@link ExecutionReport#copied} counts
 * the copies. An asynchronous execution needs memory that any thread can access: of a shared or
 * automatic arena, or on the heap. Values are little-endian and row-major.
 */
@ProviderType
public interface Execution {
  /** Gives input {@code index}; an empty segment leaves an optional input out. */
  default Execution setInput(int index, MemorySegment value) {
    return setInput(index, value, Shape.NONE);
  }

  /**
   * Gives input {@code index} with dimensions that the model left open.
   *
   * @throws IllegalArgumentException where there is no such input
   */
  Execution setInput(int index, MemorySegment value, Shape shape);

  /** Gives input {@code index} in shared memory, which is lent until the result is there. */
  Execution setInput(int index, SharedMemory memory, long offset, long length, Shape shape);

  /** Sets the segment for output {@code index}; an empty one ignores the output. */
  default Execution setOutput(int index, MemorySegment buffer) {
    return setOutput(index, buffer, Shape.NONE);
  }

  /**
   * Sets the segment for output {@code index}, with dimensions that the model left open.
   *
   * @throws IllegalArgumentException where there is no such output
   */
  Execution setOutput(int index, MemorySegment buffer, Shape shape);

  /** Sets the place of output {@code index} in shared memory, lent until the result is there. */
  Execution setOutput(int index, SharedMemory memory, long offset, long length, Shape shape);

  /**
   * Gives input {@code index} in a memory made for it. Its contents are examined when the execution
   * begins: BAD_DATA where it was not made for this input, OP_FAILED where it holds nothing,
   * DEAD_OBJECT if its contents were lost with a device.
   */
  Execution setInput(int index, Memory memory);

  /**
   * Sets the memory for output {@code index}: one made for it, which is neither an input nor
   * another output of this execution. It holds nothing any more where the execution fails once it
   * has begun.
   */
  Execution setOutput(int index, Memory memory);

  /**
   * Sets whether the execution may be started again after each answer; it may not otherwise. What
   * was found out of the arguments, such as their places, is used again as long as they are the
   * same objects: that pays where a model computes for microseconds. They are referenced until
   * others are set. {@code ANeuralNetworksExecution_setReusable} of NNAPI feature level 5, which
   * allows no other arguments.
   */
  Execution setReusable(boolean reusable);

  /** Asks for the device's own timing, or not; only where exactly one device was named. */
  Execution setMeasureTiming(boolean measure);

  /**
   * Asks each device for its own timing of the steps that it executes, or not; on any number of
   * devices. {@link ExecutionReport.StepReport#durations} has it, as far as they measure.
   */
  default Execution setMeasureSteps(boolean measure) {
    return this;
  }

  /** The time that the execution may take, from its start. */
  Execution setTimeout(Duration timeout);

  /** The time that one WHILE may loop; at most 15 s, 2 s where nothing is said. */
  Execution setLoopTimeout(Duration timeout);

  /** Sets the rank among the work of the same client, where it is not that of the compilation. */
  Execution setPriority(Priority priority);

  /**
   * Sets the client of the application that the execution is for, where it is not that of the
   * compilation.
   *
   * @param client as {@link CompilationOptions#client}; empty for the application itself
   */
  Execution setClient(String client);

  /** Executes in the calling thread. Never throws for what goes wrong; the report tells. */
  ExecutionReport compute();

  /**
   * Executes by a burst, and waits for the answer in the calling thread; in all else as {@link
   * #compute} does. BAD_DATA with a burst of another compilation; BAD_STATE with one that is closed
   * or has as many executions as its depth allows.
   */
  ExecutionReport burstCompute(Burst burst);

  /** Executes in a thread of the runtime. Cancelling the future stops the execution soon. */
  CompletableFuture<ExecutionReport> computeAsync();

  /**
   * Executes once all events have completed; an event that failed, or whose report did, fails this
   * one with OP_FAILED. All outputs must be fully specified.
   */
  CompletableFuture<ExecutionReport> startComputeWithDependencies(
      List<? extends CompletableFuture<ExecutionReport>> waitFor);

  /**
   * Asks a started execution to stop at its next checkpoint, or not to begin. Unlike a cancelled
   * future, its report comes when that is done and nobody uses the arguments any more: OP_FAILED,
   * or whatever it became first. Any thread may call it; before a start and after the end it does
   * nothing.
   */
  void stop();
}
