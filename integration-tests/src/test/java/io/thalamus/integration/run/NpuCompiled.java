// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.run.NpuCycles.Row;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Lifetime;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.command.Command;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.Opcode.Engine;
import io.thalamus.npu.compile.NpuCompiler;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.npu.machine.Timeline;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The same layers as the device compiles them: cut to fit into its scratchpad and accumulators,
 * each piece filling and draining the array anew, with transfers beside the products. SCALE-Sim's
 * memories never cut a fold and, here, never stall; its later version counts one cycle less.
 */
final class NpuCompiled {
  private static final int SEED = 1;
  private static final OperatingPoint POINT =
      NpuConfig.standard().points().choose(ExecutionPreference.FAST_SINGLE_ANSWER);

  private NpuCompiled() {}

  static void run(Map<String, List<Row>> tables, int tilings, Figures figures)
      throws ValidationException, DeviceException {
    for (Map.Entry<String, List<Row>> table : tables.entrySet()) {
      String key = "compiled." + table.getKey();
      System.out.println();
      System.out.printf(
          Locale.ROOT,
          "%-37s %10s %10s %6s %10s %6s  %s%n",
          key,
          "SCALE-Sim2",
          "array",
          "ratio",
          "in all",
          "ratio",
          "what the array does more");
      double arraySum = 0;
      double arrayWorst = 0;
      double allSum = 0;
      for (Row row : table.getValue()) {
        Architecture architecture = architecture(row);
        Executable executable = compile(row, architecture, tilings);
        Timeline timeline = Timeline.of(executable, architecture, POINT);
        long busy = timeline.busy(Engine.ARRAY);
        double array = (double) busy / row.published()[0];
        double all = (double) timeline.cycles() / row.published()[0];
        System.out.printf(
            Locale.ROOT,
            "%-37s %10d %10d %6.3f %10d %6.3f  %s%n",
            row.layer(),
            row.published()[0],
            busy,
            array,
            timeline.cycles(),
            all,
            cause(row, executable, busy, figures));
        arraySum += Math.abs(Math.log(array));
        arrayWorst = Math.max(arrayWorst, Math.abs(Math.log(array)));
        allSum += Math.log(all);
      }
      int count = table.getValue().size();
      figures.decimal(key + ".array.geometricMean", Math.exp(arraySum / count));
      figures.decimal(key + ".array.worst", Math.exp(arrayWorst));
      figures.decimal(key + ".inAll.geometricMean", Math.exp(allSum / count));
    }
  }

  /** All that a compiled layer takes more, to the cycle. */
  private static String cause(Row row, Executable executable, long busy, Figures figures) {
    long folds = 0;
    long streamed = 0;
    for (Command command : executable.commands()) {
      if (command instanceof Command.MatMul product) {
        Command.Window window = product.window();
        long pixels = window.output().area();
        long cells = window.kernel().area() * window.channels();
        long pieces = row.array().folds(pixels, cells, product.columns());
        folds += pieces;
        streamed += pieces * pixels;
      }
    }
    long fill = 2L * row.array().rows() + row.array().columns() - 2;
    long more = folds - row.array().folds(row.m(), row.k(), row.n());
    long longer = streamed - row.array().folds(row.m(), row.k(), row.n()) * row.m();
    figures.promise(
        row.layer() + " is explained to the cycle",
        busy == row.published()[0] + 1 + more * fill + longer);
    if (more == 0 && longer == 0) {
      return "";
    }
    return more
        + " more fills of "
        + fill
        + (longer == 0 ? "" : "; cut inside a fold: " + longer + " steps");
  }

  private static Architecture architecture(Row row) {
    Architecture usual = NpuConfig.standard().architecture();
    return new Architecture(
        row.array(),
        usual.lanes(),
        usual.scratchpad(),
        usual.accumulators(),
        usual.dram(),
        usual.bytesPerSecond(),
        usual.latencySeconds());
  }

  private static Executable compile(Row row, Architecture architecture, int tilings)
      throws ValidationException, DeviceException {
    long bytes = row.k() * row.n();
    long biasAt = Math.ceilDiv(bytes, 64) * 64;
    try (SharedMemory constants =
        SharedMemory.allocate(MemoryKind.ASHMEM, biasAt + Integer.BYTES * row.n())) {
      NpuCompiler compiler = new NpuCompiler(architecture, OperationCatalog.standard());
      return compiler
          .compile(product(row, constants, biasAt), PrepareConfig.DEFAULT)
          .searched(POINT, tilings, SEED, () -> false);
    }
  }

  /** The product as a fully connected layer: m rows, k inputs, n outputs. */
  private static Subgraph product(Row row, SharedMemory constants, long biasAt) {
    int m = Math.toIntExact(row.m());
    int k = Math.toIntExact(row.k());
    int n = Math.toIntExact(row.n());
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM;
    Quantization half = Quantization.of(0.5f, 128);
    SubgraphBuilder graph = new SubgraphBuilder();
    Lifetime.Constant filters = SubgraphBuilder.place(constants, 0, row.k() * row.n());
    Lifetime.Constant bias = SubgraphBuilder.place(constants, biasAt, Integer.BYTES * row.n());
    int input = graph.input("", type, Shape.of(m, k), half);
    int filter = graph.constant("", type, Shape.of(n, k), half, filters);
    int sums =
        graph.constant("", OperandCode.TENSOR_INT32, Shape.of(n), Quantization.of(0.25f, 0), bias);
    int output = graph.output("", type, Shape.of(m, n), Quantization.of(64, 128));
    graph.operation(
        OperationCode.FULLY_CONNECTED,
        List.of(input, filter, sums, graph.int32(0)),
        List.of(output));
    return graph.build();
  }
}
