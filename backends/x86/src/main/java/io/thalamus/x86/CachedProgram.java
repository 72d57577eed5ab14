// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.x86.compile.Constants;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Argument;
import io.thalamus.x86.compile.Program.Check;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * A compiled model as it stands in the cache: the data cache holds the constants, the model cache
 * all else, the code last. Immutable; arrays are not copied. The code has no addresses in it, so
 * that it runs wherever it is put.
 *
 * <p>Its reader knows from the caching engine that the device wrote these bytes. Numbers are
 * checked all the same, since code would run with them.
 *
 * @param arguments the graph of inputs and outputs alone
 * @param settings SHA-256 of the device's version and of what of the processor the code uses
 */
record CachedProgram(Model arguments, Program program, byte[] settings) {
  private static final int MAGIC = 'T' | 'X' << 8 | '8' << 16 | '6' << 24;

  /** Changes with the layout of the file. */
  private static final int VERSION = 5;

  private static final int SETTINGS = 32;
  private static final int FIXED = 2 * Integer.BYTES + SETTINGS;

  private static final int LEAST_OPERAND = 5 * Integer.BYTES;
  private static final int LEAST_FUNCTION = Integer.BYTES + 6 * Long.BYTES + 1;

  /** Stands for a range that nothing reads. */
  private static final long UNUSED = -1;

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
    return new CacheContents(List.of(bytes.toByteArray()), List.of(program.constants().segment()));
  }

  private void write(DataOutputStream out) throws IOException {
    Subgraph graph = arguments.main();
    out.writeInt(graph.inputIndexes().size());
    out.writeInt(graph.outputIndexes().size());
    for (int number : new CachedArguments(arguments, program.shapes()).numbers()) {
      out.writeInt(number);
    }
    for (Argument[] some : new Argument[][] {program.inputs(), program.outputs()}) {
      for (Argument argument : some) {
        write(argument, out);
      }
    }
    out.writeLong(program.memory());
    out.writeInt(program.copied().size());
    for (Copied one : program.copied()) {
      out.writeLong(one.from());
      out.writeLong(one.to().offset());
      out.writeLong(one.to().bytes());
    }
    out.writeInt(program.checks().size());
    for (Check check : program.checks()) {
      out.writeLong(check.at());
      out.writeInt(check.limit());
    }
    out.writeInt(program.groups().size());
    for (Group group : program.groups()) {
      out.writeInt(group.end());
      out.writeBoolean(group.isShared());
    }
    out.writeInt(program.operations().length);
    for (int end : program.operations()) {
      out.writeInt(end);
    }
    Map<Function, Integer> functions = new LinkedHashMap<>();
    program.functions().forEach(function -> functions.putIfAbsent(function, functions.size()));
    out.writeInt(functions.size());
    for (Function function : functions.keySet()) {
      write(function, out);
    }
    out.writeInt(program.functions().size());
    for (int i = 0; i < program.functions().size(); i++) {
      out.writeInt(functions.get(program.functions().get(i)));
      for (int number = 1; number < Program.CALL; number++) {
        out.writeLong(program.calls()[i * Program.CALL + number]);
      }
    }
    out.writeInt(program.code().length);
    out.write(program.code());
  }

  private static void write(Argument argument, DataOutputStream out) throws IOException {
    if (argument == null) {
      out.writeLong(UNUSED);
      return;
    }
    out.writeLong(argument.range().offset());
    out.writeLong(argument.range().bytes());
    out.writeInt(argument.numbers().length);
    for (int number : argument.numbers()) {
      out.writeInt(number);
    }
  }

  private static void write(Function function, DataOutputStream out) throws IOException {
    out.writeInt(function.entry());
    for (Extent extent : List.of(function.read(), function.written(), function.other())) {
      out.writeLong(extent.first());
      out.writeLong(extent.next());
    }
    out.writeBoolean(function.isConstant());
  }

  /**
   * Returns what stands in files that the device wrote itself, and that are untouched.
   *
   * @param file the model cache
   * @param constants the data cache, which stay the caller's
   * @param settings that the code must have been written under
   * @throws IOException where another version of the device wrote them, or for another processor,
   *     or where a number leads out of what it is for
   */
  static CachedProgram read(byte[] file, Constants constants, byte[] settings) throws IOException {
    ByteBuffer in = ByteBuffer.wrap(file);
    if (in.remaining() < FIXED || in.getInt() != MAGIC || in.getInt() != VERSION) {
      throw new IOException("the cache has the format of another version");
    }
    if (!Arrays.equals(bytes(in, SETTINGS), settings)) {
      throw new IOException("the cache was made by another version, or for another processor");
    }
    try {
      CachedProgram read = read(in, constants, settings);
      ProgramBounds.check(read.program());
      return read;
    } catch (BufferUnderflowException
        | IllegalArgumentException
        | IndexOutOfBoundsException
        | NegativeArraySizeException
        | NoSuchElementException e) {
      throw new IOException("the cache is damaged: " + e, e);
    }
  }

  private static byte[] bytes(ByteBuffer in, int count) {
    byte[] bytes = new byte[count];
    in.get(bytes);
    return bytes;
  }

  private static CachedProgram read(ByteBuffer in, Constants constants, byte[] settings) {
    int inputs = count(in, LEAST_OPERAND);
    int outputs = count(in, LEAST_OPERAND);
    CachedArguments arguments = CachedArguments.read(inputs, outputs, in::getInt);
    Argument[] from = arguments(in, inputs);
    Argument[] to = arguments(in, outputs);
    final long memory = in.getLong();
    List<Copied> copied = new ArrayList<>();
    for (int left = count(in, 3 * Long.BYTES); left > 0; left--) {
      copied.add(new Copied(in.getLong(), new Range(in.getLong(), in.getLong())));
    }
    List<Check> checks = new ArrayList<>();
    for (int left = count(in, Long.BYTES + Integer.BYTES); left > 0; left--) {
      checks.add(new Check(in.getLong(), in.getInt()));
    }
    List<Group> groups = new ArrayList<>();
    for (int left = count(in, Integer.BYTES + 1); left > 0; left--) {
      groups.add(new Group(in.getInt(), in.get() != 0));
    }
    int[] operations = new int[count(in, Integer.BYTES)];
    for (int i = 0; i < operations.length; i++) {
      operations[i] = in.getInt();
    }
    List<Function> all = new ArrayList<>();
    for (int left = count(in, LEAST_FUNCTION); left > 0; left--) {
      all.add(new Function(in.getInt(), extent(in), extent(in), extent(in), in.get() != 0));
    }
    int count = count(in, Integer.BYTES + (Program.CALL - 1) * Long.BYTES);
    List<Function> functions = new ArrayList<>(count);
    long[] calls = new long[count * Program.CALL];
    for (int i = 0; i < count; i++) {
      Function function = all.get(Objects.checkIndex(in.getInt(), all.size()));
      functions.add(function);
      calls[i * Program.CALL] = function.entry();
      for (int number = 1; number < Program.CALL; number++) {
        calls[i * Program.CALL + number] = in.getLong();
      }
    }
    byte[] code = bytes(in, count(in, 1));
    Program program =
        new Program(
            code,
            constants,
            calls,
            functions,
            List.copyOf(groups),
            operations,
            memory,
            List.copyOf(copied),
            List.copyOf(checks),
            from,
            to,
            arguments.shapes());
    return new CachedProgram(arguments.model(), program, settings);
  }

  /** Reads the number of things that follow: no more than there is room for. */
  private static int count(ByteBuffer in, int leastBytes) {
    int count = in.getInt();
    if (count < 0 || count > in.remaining() / leastBytes) {
      throw new IllegalArgumentException("it would have " + count + " of something");
    }
    return count;
  }

  private static Extent extent(ByteBuffer in) {
    return new Extent(in.getLong(), in.getLong());
  }

  private static Argument[] arguments(ByteBuffer in, int count) {
    Argument[] arguments = new Argument[count];
    for (int i = 0; i < count; i++) {
      long offset = in.getLong();
      if (offset != UNUSED) {
        Range range = new Range(offset, in.getLong());
        int[] numbers = new int[count(in, Integer.BYTES)];
        Arrays.setAll(numbers, _ -> in.getInt());
        arguments[i] = new Argument(range, numbers);
      }
    }
    return arguments;
  }
}
