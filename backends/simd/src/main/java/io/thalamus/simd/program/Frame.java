// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Tiles;
import io.thalamus.driver.tiles.Workers;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Failed;
import java.lang.foreign.MemorySegment;

/**
 * The memory of one run: tensors of a kind in one array, where the plan put them, inputs and
 * outputs in arrays of their own, for which a buffer's can stand in, and what each thread needs
 * besides. Used by one run at a time.
 */
public final class Frame implements Tiles {
  /** By {@link ElementKind}, what most tensors share. */
  private final Object[] shared = new Object[ElementKind.values().length];

  /** By array, those of single tensors; or a buffer's that stands in for one. */
  private final Object[] arrays;

  /** By array, the frame's own while a buffer's stands in for it. */
  private final Object[] own;

  private boolean isLent;

  /** True if the scalar twins of kernels run; set before the first step. */
  public boolean isScalar;

  private final Scratch[] scratches;
  private final Job job = new Job();

  /** The reason why a step has no result; null where all have one. */
  private volatile String failure;

  /** The step whose tiles are open. */
  private Step step;

  public Frame(Program program, int participants) {
    arrays = new Object[program.arrays()];
    own = new Object[program.arrays()];
    for (ElementKind kind : ElementKind.values()) {
      shared[kind.ordinal()] = kind.newArray(program.sizes().get(kind.ordinal()));
    }
    program.inputs().forEach(this::makeArray);
    program.outputs().forEach(this::makeArray);
    scratches = new Scratch[participants];
    for (int i = 0; i < participants; i++) {
      scratches[i] = program.newScratch();
    }
  }

  private void makeArray(Tensor tensor) {
    if (tensor != null && tensor.array() != 0) {
      arrays[tensor.array()] = tensor.kind().newArray(ArgumentArrays.length(tensor.size()));
    }
  }

  /** Returns the array in which a tensor stands. */
  public Object array(Tensor tensor) {
    return tensor.array() == 0 ? shared[tensor.kind().ordinal()] : arrays[tensor.array()];
  }

  /** Returns the array of a float tensor. */
  public float[] floats(Tensor tensor) {
    return (float[]) array(tensor);
  }

  /** Returns the array of a tensor of 8-bit integers or truth values. */
  public byte[] bytes(Tensor tensor) {
    return (byte[]) array(tensor);
  }

  /** Returns the array of a tensor of 16-bit integers. */
  public short[] shorts(Tensor tensor) {
    return (short[]) array(tensor);
  }

  /** Returns the array of a tensor of 32-bit integers. */
  public int[] ints(Tensor tensor) {
    return (int[]) array(tensor);
  }

  /**
   * Has a buffer stand in for the array of an input or output, until {@link #takeBack}.
   *
   * @return false if the bytes are not of such a buffer, or the tensor has no array of its own
   */
  public boolean lend(Tensor tensor, MemorySegment argument) {
    int array = tensor.array();
    if (array == 0 || argument.isNative() || own[array] != null) {
      return false;
    }
    Object lent = ArgumentArrays.of(argument, tensor);
    if (lent == null) {
      return false;
    }
    own[array] = arrays[array];
    arrays[array] = lent;
    isLent = true;
    return true;
  }

  /** Returns whether a buffer stands in for the array of a tensor. */
  public boolean isLent(Tensor tensor) {
    return own[tensor.array()] != null;
  }

  /** Stands on its own arrays again. */
  public void takeBack() {
    for (int i = 0; isLent && i < own.length; i++) {
      if (own[i] != null) {
        arrays[i] = own[i];
      }
      own[i] = null;
    }
    isLent = false;
  }

  public Job job() {
    return job;
  }

  /** Has the run end after this step, since an argument is such that there is no result. */
  public void fail(String reason) {
    failure = reason;
  }

  /** Returns the reason why there is no result, null where there is none, and forgets it. */
  public String takeFailure() {
    String reason = failure;
    if (reason != null) {
      failure = null;
    }
    return reason;
  }

  /**
   * Runs a step.
   *
   * @param isSeen whether helpers see the job
   * @return null where it is done, else what the execution ends with
   */
  public Failed run(Step next, ExecutionConfig config, Workers workers, boolean isSeen) {
    step = next;
    return job.run(this, next.tiles(), config, workers, isSeen);
  }

  @Override
  public void run(int participant, int tile) {
    step.run(this, scratches[participant], tile);
  }

  /**
   * Returns whether a tile that has long parts is to be left as it is, since the execution ends.
   *
   * @param scratch that the tile was given
   */
  public boolean isOver(Scratch scratch) {
    return job.isOver(scratch == scratches[0] ? 0 : 1);
  }

  /** Returns the memory of a thread; 0 is the caller. */
  Scratch scratch(int participant) {
    return scratches[participant];
  }
}
