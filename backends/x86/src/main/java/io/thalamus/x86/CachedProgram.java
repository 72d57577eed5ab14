// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.x86.compile.Constants;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A compiled model as it stands in the cache: the data cache holds the constants, the model cache
 * all else, the code last. Immutable; arrays are not copied. The code has no addresses in it, so
 * that it runs wherever it is put.
 *
 * <p>Whoever reads it has been told by the caching engine that the device wrote these bytes.
 *
 * @param arguments the graph of inputs and outputs alone
 * @param settings SHA-256 of the device's version and of what of the processor the code uses
 */
record CachedProgram(Model arguments, Program program, byte[] settings) {
  private static final int MAGIC = 'T' | 'X' << 8 | '8' << 16 | '6' << 24;

  /** Changes with the layout of the file. */
  private static final int VERSION = 1;

  private static final int SETTINGS = 32;

  /** Stands for a range that nothing reads. */
  private static final long UNUSED = -1;

  /** Returns a graph of the inputs and outputs of another. */
  static Model arguments(Subgraph graph) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> inputs = new ArrayList<>();
    List<Integer> outputs = new ArrayList<>();
    for (int i : graph.inputIndexes()) {
      inputs.add(builder.operand(bare(graph.operands().get(i), Lifetime.SUBGRAPH_INPUT)));
    }
    for (int i : graph.outputIndexes()) {
      outputs.add(builder.operand(bare(graph.operands().get(i), Lifetime.SUBGRAPH_OUTPUT)));
    }
    return Model.of(builder.build(inputs, outputs));
  }

  private static Operand bare(Operand operand, Lifetime lifetime) {
    return new Operand(operand.type(), operand.shape(), operand.quantization(), lifetime, "");
  }

  /** Returns whether the format has room for the arguments of a model. */
  static boolean isCacheable(Subgraph graph) {
    return Stream.concat(graph.inputIndexes().stream(), graph.outputIndexes().stream())
        .map(graph.operands()::get)
        .allMatch(
            operand ->
                operand.type() instanceof OperandCode
                    && !(operand.quantization() instanceof Quantization.PerChannel));
  }

  /** As files. */
  CacheContents write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(MAGIC);
      out.writeInt(VERSION);
      out.write(settings);
      write(out);
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    return new CacheContents(List.of(bytes.toByteArray()), List.of(program.constants().toArray()));
  }

  private void write(DataOutputStream out) throws IOException {
    Subgraph graph = arguments.main();
    out.writeInt(graph.inputIndexes().size());
    out.writeInt(graph.outputIndexes().size());
    for (int i : graph.inputIndexes()) {
      write(graph.operands().get(i), out);
    }
    for (int i : graph.outputIndexes()) {
      write(graph.operands().get(i), out);
    }
    for (Shape shape : program.shapes()) {
      write(shape, out);
    }
    for (Range[] ranges : new Range[][] {program.inputs(), program.outputs()}) {
      for (Range range : ranges) {
        out.writeLong(range == null ? UNUSED : range.offset());
        out.writeLong(range == null ? UNUSED : range.bytes());
      }
    }
    out.writeLong(program.memory());
    out.writeInt(program.copied().size());
    for (Copied one : program.copied()) {
      out.writeLong(one.from());
      out.writeLong(one.to().offset());
      out.writeLong(one.to().bytes());
    }
    out.writeInt(program.groups().size());
    for (Group group : program.groups()) {
      out.writeInt(group.end());
      out.writeBoolean(group.isShared());
    }
    out.writeInt(program.calls().length);
    for (long number : program.calls()) {
      out.writeLong(number);
    }
    out.writeInt(program.code().length);
    out.write(program.code());
  }

  private static void write(Operand operand, DataOutputStream out) throws IOException {
    out.writeInt(((OperandCode) operand.type()).code());
    out.writeBoolean(!(operand.quantization() instanceof Quantization.None));
    out.writeFloat(operand.quantization().scale());
    out.writeInt(operand.quantization().zeroPoint());
    write(operand.shape(), out);
  }

  private static void write(Shape shape, DataOutputStream out) throws IOException {
    out.writeInt(shape.rank());
    for (int dimension : shape.toArray()) {
      out.writeInt(dimension);
    }
  }

  /**
   * Returns what stands in files that the device wrote itself, and that are untouched.
   *
   * @param settings that the code must have been written under
   * @throws IOException where another version of the device wrote them, or for another processor
   */
  static CachedProgram read(CacheContents contents, byte[] settings) throws IOException {
    try (DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(contents.modelCache().getFirst()))) {
      if (in.readInt() != MAGIC || in.readInt() != VERSION) {
        throw new IOException("the cache has the format of another version");
      }
      if (!Arrays.equals(in.readNBytes(SETTINGS), settings)) {
        throw new IOException("the cache was made by another version, or for another processor");
      }
      return read(in, contents.dataCache().getFirst(), settings);
    }
  }

  private static CachedProgram read(DataInputStream in, byte[] constants, byte[] settings)
      throws IOException {
    int inputs = in.readInt();
    int outputs = in.readInt();
    SubgraphBuilder builder = new SubgraphBuilder();
    for (int i = 0; i < inputs + outputs; i++) {
      builder.operand(operand(in, i < inputs ? Lifetime.SUBGRAPH_INPUT : Lifetime.SUBGRAPH_OUTPUT));
    }
    Subgraph graph =
        builder.build(
            IntStream.range(0, inputs).boxed().toList(),
            IntStream.range(inputs, inputs + outputs).boxed().toList());
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < outputs; i++) {
      shapes.add(shape(in));
    }
    Range[] from = ranges(in, inputs);
    Range[] to = ranges(in, outputs);
    final long memory = in.readLong();
    List<Copied> copied = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      copied.add(new Copied(in.readLong(), new Range(in.readLong(), in.readLong())));
    }
    List<Group> groups = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      groups.add(new Group(in.readInt(), in.readBoolean()));
    }
    long[] calls = new long[in.readInt()];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = in.readLong();
    }
    byte[] code = in.readNBytes(in.readInt());
    Program program =
        new Program(
            code,
            Constants.of(constants),
            calls,
            List.of(),
            List.copyOf(groups),
            memory,
            List.copyOf(copied),
            from,
            to,
            List.copyOf(shapes));
    return new CachedProgram(Model.of(graph), program, settings);
  }

  private static Range[] ranges(DataInputStream in, int count) throws IOException {
    Range[] ranges = new Range[count];
    for (int i = 0; i < count; i++) {
      long offset = in.readLong();
      long bytes = in.readLong();
      ranges[i] = offset == UNUSED ? null : new Range(offset, bytes);
    }
    return ranges;
  }

  private static Operand operand(DataInputStream in, Lifetime lifetime) throws IOException {
    OperandCode type =
        OperandCode.ofCode(in.readInt())
            .orElseThrow(() -> new IOException("the cache has an unknown type"));
    boolean isQuantized = in.readBoolean();
    float scale = in.readFloat();
    int zeroPoint = in.readInt();
    Quantization quantization =
        isQuantized ? new Quantization.PerTensor(scale, zeroPoint) : Quantization.NONE;
    return new Operand(type, shape(in), quantization, lifetime, "");
  }

  private static Shape shape(DataInputStream in) throws IOException {
    int[] dimensions = new int[in.readInt()];
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = in.readInt();
    }
    return Shape.of(dimensions);
  }
}
