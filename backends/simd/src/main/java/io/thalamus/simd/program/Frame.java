// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.program;

import io.thalamus.driver.tiles.Job;
import io.thalamus.driver.tiles.Tiles;
import java.lang.foreign.MemorySegment;

/**
 * The memory of one run: tensors of a kind in one array, where the plan put them, inputs and
 * outputs in arrays of their own, for which a buffer's can stand in, and what each thread needs
 * besides. Used by one run at a time.
 */
public final class Frame implements Tiles {
  private final float[][] floats;

  /** Of 8-bit integers, as they are stored. */
  private final byte[][] bytes;

  /** By array, the frame's own while a buffer's stands in for it. */
  private final Object[] own;

  private boolean isLent;

  /** True if the scalar twins of kernels run; set before the first step. */
  public boolean isScalar;

  private final Scratch[] scratches;
  private final Job job = new Job();

  /** The step whose tiles are open. */
  private Step step;

  public Frame(Program program, int participants) {
    floats = new float[program.arrays()][];
    bytes = new byte[program.arrays()][];
    own = new Object[program.arrays()];
    floats[0] = new float[program.floats()];
    bytes[0] = new byte[program.bytes()];
    program.inputs().forEach(this::makeArray);
    program.outputs().forEach(this::makeArray);
    scratches = new Scratch[participants];
    for (int i = 0; i < participants; i++) {
      scratches[i] = new Scratch(program.scratchFloats(), program.scratchInts());
    }
  }

  private void makeArray(Tensor tensor) {
    if (tensor == null || tensor.array() == 0) {
      return;
    }
    int size = ArgumentArrays.length(tensor.size());
    if (tensor.isFloat()) {
      floats[tensor.array()] = new float[size];
    } else {
      bytes[tensor.array()] = new byte[size];
    }
  }

  /** Returns the array of a float tensor. */
  public float[] floats(Tensor tensor) {
    return floats[tensor.array()];
  }

  /** Returns the array of a tensor of 8-bit integers. */
  public byte[] bytes(Tensor tensor) {
    return bytes[tensor.array()];
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
    if (lent instanceof float[] numbers) {
      own[array] = floats[array];
      floats[array] = numbers;
    } else if (lent instanceof byte[] stored) {
      own[array] = bytes[array];
      bytes[array] = stored;
    } else {
      return false;
    }
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
      if (own[i] instanceof float[] numbers) {
        floats[i] = numbers;
      } else if (own[i] instanceof byte[] stored) {
        bytes[i] = stored;
      }
      own[i] = null;
    }
    isLent = false;
  }

  public Job job() {
    return job;
  }

  /** Makes the tiles of a step available to others. */
  public void open(Step next) {
    step = next;
    job.open(this, next.tiles());
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
