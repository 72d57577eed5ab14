// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.reader.Philox;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import java.util.function.BiFunction;

/**
 * Operators that draw by lot. ONNX leaves open what they draw: here it follows from the seed and
 * the name of the result, and is the same in each execution.
 */
final class RandomNumbers {
  /** How many numbers are drawn where only an execution tells how many are needed. */
  private static final int ROOM = 1 << 16;

  /** Of places along further axes of unknown size; a prime, so that few meet the same number. */
  private static final int STRIDE = 7919;

  private RandomNumbers() {}

  static void addTo(Converters table) {
    table.add("RandomUniform", node -> node.out(uniform(node, shape(node))));
    table.add("RandomUniformLike", node -> node.out(like(node, RandomNumbers::uniform)));
    table.add("RandomNormal", node -> node.out(normal(node, shape(node))));
    table.add("RandomNormalLike", node -> node.out(like(node, RandomNumbers::normal)));
    table.add("Bernoulli", RandomNumbers::bernoulli);
  }

  private static int[] shape(Node node) {
    int[] shape = node.list("shape");
    node.require(shape != null, "its shape is missing");
    for (int size : shape) {
      node.require(size >= 0, "its shape has a size of " + size);
    }
    return shape;
  }

  /**
   * As many numbers as a value has; those of unknown sizes are taken from a row again and again.
   */
  private static Value like(Node node, BiFunction<Node, int[], Value> draw) {
    Ops ops = node.ops();
    Value like = node.openIn(0);
    if (!like.isOpen()) {
      return draw.apply(node, like.shape());
    }
    int rank = like.rank();
    int stride = 1;
    Value index = ops.number(DataType.INT32, 0);
    for (int axis = rank - 1; axis >= 0; axis--) {
      if (like.dim(axis) > 0) {
        Value places = ops.range(Dims.along(rank, axis, like.dim(axis)));
        index = ops.add(index, ops.mul(ops.cast(places, DataType.INT32), stride));
        stride = stride * like.dim(axis) % ROOM;
      }
    }
    for (int axis = rank - 1; axis >= 0; axis--) {
      if (like.dim(axis) == 0) {
        Value places = ops.mul(OpenSizes.places(ops, like, axis), stride);
        index = ops.add(index, OpenSizes.along(ops, places, rank, axis));
        stride = stride * STRIDE % ROOM;
      }
    }
    Value place = ops.remainder(index, ops.number(DataType.INT32, ROOM), false);
    return ops.gather(draw.apply(node, new int[] {ROOM}), 0, place);
  }

  private static Philox generator(Node node) {
    String name = node.onnx().outputs().isEmpty() ? "" : node.onnx().outputs().getFirst();
    return new Philox(Float.floatToIntBits(node.real("seed", 0)), name.hashCode());
  }

  private static DataType type(Node node) {
    DataType like = node.inputs() > 0 ? node.openIn(0).type() : DataType.FLOAT;
    return node.type("dtype", like);
  }

  private static Value value(Node node, int[] shape, float[] drawn, double factor, double term) {
    double[] values = node.ops().budget().doubles(drawn.length);
    for (int i = 0; i < values.length; i++) {
      values[i] = term + factor * drawn[i];
    }
    return node.ops().constant(type(node), shape, values);
  }

  private static float[] room(Node node, int[] shape) {
    return new float[node.ops().budget().ints(Dims.count(shape)).length];
  }

  private static Value uniform(Node node, int[] shape) {
    float[] drawn = room(node, shape);
    generator(node).uniform(drawn);
    double low = node.real("low", 0);
    return value(node, shape, drawn, node.real("high", 1) - low, low);
  }

  private static Value normal(Node node, int[] shape) {
    float[] drawn = room(node, shape);
    generator(node).normal(drawn);
    return value(node, shape, drawn, node.real("scale", 1), node.real("mean", 0));
  }

  /** 1 with the probability that an element is. */
  private static void bernoulli(Node node) {
    Ops ops = node.ops();
    Value chances = ops.cast(node.in(0), DataType.FLOAT);
    float[] drawn = room(node, chances.shape());
    generator(node).uniform(drawn);
    double[] values = ops.budget().doubles(drawn.length);
    for (int i = 0; i < values.length; i++) {
      values[i] = drawn[i];
    }
    Value limits = ops.constant(DataType.FLOAT, chances.shape(), values);
    node.out(ops.cast(ops.binary(Binary.LESS, limits, chances), type(node)));
  }
}
