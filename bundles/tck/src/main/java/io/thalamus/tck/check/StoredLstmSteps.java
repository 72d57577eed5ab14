// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.Quantization.NONE;

import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Random steps of an 8-bit LSTM without peepholes, normalization and projection. Stateless. */
public final class StoredLstmSteps {
  private StoredLstmSteps() {}

  /** Fills a graph by one to three steps that follow each other, and returns its inputs. */
  public static byte[][] fill(TestGraph graph, Random random) {
    OperandCode type = TENSOR_QUANT8_ASYMM_SIGNED;
    int batches = 1 + random.nextInt(3);
    int size = 1 + random.nextInt(40);
    int units = 1 + random.nextInt(40);
    Quantization ofInput = quantization(random);
    Quantization ofState = quantization(random);
    Quantization ofCell = Quantization.of(Math.scalb(1f, -9 - random.nextInt(7)), 0);
    List<Integer> gates = new ArrayList<>();
    for (int depth : new int[] {size, units}) {
      for (int gate = 0; gate < 4; gate++) {
        Quantization scale = Quantization.of(0.002f + 0.02f * random.nextFloat(), 0);
        byte[] weights = stored(random, units, depth);
        gates.add(graph.constant(TENSOR_QUANT8_SYMM, scale, weights, units, depth));
      }
    }
    for (int i = 0; i < 3; i++) {
      gates.add(graph.noValue(TENSOR_QUANT16_SYMM, ofCell));
    }
    for (int gate = 0; gate < 4; gate++) {
      int[] bias = random.ints(units, -20_000, 20_000).toArray();
      gates.add(graph.constant(TENSOR_INT32, NONE, TestGraph.bytes(bias), units));
    }
    gates.add(graph.noValue(TENSOR_QUANT8_SYMM, ofCell));
    gates.add(graph.noValue(TENSOR_INT32));
    int input = graph.input(type, ofInput, batches, size);
    int state = graph.input(type, ofState, batches, units);
    int cell = graph.input(TENSOR_QUANT16_SYMM, ofCell, batches, units);
    List<Integer> rest = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      rest.add(graph.noValue(TENSOR_QUANT16_SYMM, ofCell));
    }
    rest.add(graph.float32(random.nextBoolean() ? 0 : 100 * ofCell.scale()));
    rest.add(graph.float32(0));
    for (int gate = 0; gate < 4; gate++) {
      rest.add(graph.float32((0.5f + random.nextFloat()) / 4096));
    }
    rest.add(graph.int32(random.nextInt(21) - 10));
    rest.add(graph.float32(ofState.scale()));
    int steps = 1 + random.nextInt(3);
    for (int step = 0; step < steps; step++) {
      List<Integer> inputs = new ArrayList<>(List.of(input));
      inputs.addAll(gates);
      inputs.addAll(List.of(state, cell));
      inputs.addAll(rest);
      boolean isLast = step == steps - 1;
      int output =
          isLast
              ? graph.output(type, ofState, batches, units)
              : graph.temporary(type, ofState, batches, units);
      state = graph.temporary(type, ofState, batches, units);
      cell = graph.temporary(TENSOR_QUANT16_SYMM, ofCell, batches, units);
      graph.operation(OperationCode.QUANTIZED_LSTM, inputs, List.of(state, cell, output));
    }
    return new byte[][] {
      stored(random, batches, size),
      stored(random, batches, units),
      stored(random, 2, batches, units)
    };
  }

  private static Quantization quantization(Random random) {
    float scale = (float) (0.004 * Math.pow(2, random.nextInt(7) - 3));
    return Quantization.of(scale * (0.5f + random.nextFloat()), random.nextInt(256) - 128);
  }

  private static byte[] stored(Random random, int... shape) {
    int count = 1;
    for (int dimension : shape) {
      count *= dimension;
    }
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }
}
