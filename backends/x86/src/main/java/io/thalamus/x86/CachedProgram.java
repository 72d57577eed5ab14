// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import io.thalamus.x86.compile.Constants;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Program.Argument;
import io.thalamus.x86.compile.Program.Check;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.stream.LongStream;

/**
 * A compiled model as it stands in the cache: the data cache holds the constants, the model cache
 * all else, the code last. Immutable; arrays are not copied. The code has no addresses in it, so
 * that it runs wherever it is put.
 *
 * <p>Its reader knows from the caching engine that the device wrote these bytes. Numbers are
 * checked all the same, since code would run with them.
 *
 * @param arguments the graph of inputs and outputs alone
 * @param program as {@link Program#alone}
 * @param settings SHA-256 of the device's version and of what of the processor the code uses
 */
record CachedProgram(Model arguments, Program program, byte[] settings) {
  private static final int MAGIC = 'T' | 'X' << 8 | '8' << 16 | '6' << 24;

  /** Changes with the layout of the file. */
  private static final int VERSION = 8;

  private static final int FIXED = 2 * Integer.BYTES;

  /** As files. */
  CacheContents write() {
    Encoder out = new Encoder().int32(MAGIC).int32(VERSION).bytes(settings);
    Subgraph graph = arguments.main();
    out.int32(graph.inputIndexes().size()).int32(graph.outputIndexes().size());
    out.ints(new CachedArguments(arguments, program.shapes()).numbers());
    for (Argument[] some : new Argument[][] {program.inputs(), program.outputs()}) {
      for (Argument argument : some) {
        out.optional(Optional.ofNullable(argument), CachedProgram::write);
      }
    }
    out.int64(program.memory());
    out.list(program.copied(), (to, one) -> write(to.int64(one.from()), one.to()));
    out.list(program.checks(), (to, check) -> to.int64(check.at()).int32(check.limit()));
    out.list(program.groups(), (to, group) -> to.int32(group.end()).bool(group.isShared()));
    out.ints(program.operations());
    out.ints(program.large());
    Map<Function, Integer> functions = new LinkedHashMap<>();
    program.functions().forEach(function -> functions.putIfAbsent(function, functions.size()));
    out.list(List.copyOf(functions.keySet()), CachedProgram::write);
    out.int32(program.functions().size());
    for (int i = 0; i < program.functions().size(); i++) {
      out.int32(functions.get(program.functions().get(i)));
      for (int number = 1; number < Program.CALL; number++) {
        out.int64(program.calls()[i * Program.CALL + number]);
      }
    }
    out.bytes(program.code());
    return new CacheContents(List.of(out.toArray()), List.of(program.constants().own()));
  }

  private static void write(Encoder out, Range range) {
    out.int64(range.offset()).int64(range.bytes());
  }

  private static void write(Encoder out, Argument argument) {
    write(out, argument.range());
    out.ints(argument.numbers());
  }

  private static void write(Encoder out, Function function) {
    out.int32(function.entry());
    out.list(function.extents(), (to, one) -> to.int64(one.first()).int64(one.next()));
    out.bool(function.isConstant());
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
    Decoder in = new Decoder(file);
    if (file.length < FIXED || in.int32() != MAGIC || in.int32() != VERSION) {
      throw new IOException("the cache has the format of another version");
    }
    if (!Arrays.equals(in.bytes(), settings)) {
      throw new IOException("the cache was made by another version, or for another processor");
    }
    try {
      CachedProgram read = read(in, constants, settings);
      ProgramBounds.check(read.program());
      return read;
    } catch (IllegalArgumentException
        | IndexOutOfBoundsException
        | NegativeArraySizeException
        | NoSuchElementException
        | WireFormatException e) {
      throw new IOException("the cache is damaged: " + e, e);
    }
  }

  private static CachedProgram read(Decoder in, Constants constants, byte[] settings)
      throws WireFormatException {
    int inputs = in.int32();
    int outputs = in.int32();
    CachedArguments arguments =
        CachedArguments.read(inputs, outputs, Arrays.stream(in.ints()).iterator()::nextInt);
    Argument[] from = arguments(in, inputs);
    Argument[] to = arguments(in, outputs);
    final long memory = in.int64();
    List<Copied> copied = in.list(one -> new Copied(one.int64(), range(one)));
    List<Check> checks = in.list(one -> new Check(one.int64(), one.int32()));
    List<Group> groups = in.list(one -> new Group(one.int32(), one.bool()));
    int[] operations = in.ints();
    int[] large = in.ints();
    List<Function> all =
        in.list(one -> new Function(one.int32(), one.list(CachedProgram::extent), one.bool()));
    List<Function> functions = new ArrayList<>();
    LongStream.Builder calls = LongStream.builder();
    for (int left = in.int32(); left > 0; left--) {
      Function function = all.get(in.int32());
      functions.add(function);
      calls.add(function.entry());
      for (int number = 1; number < Program.CALL; number++) {
        calls.add(in.int64());
      }
    }
    byte[] code = in.bytes();
    Program program =
        new Program(
            code,
            constants,
            calls.build().toArray(),
            functions,
            List.copyOf(groups),
            operations,
            memory,
            List.copyOf(copied),
            List.copyOf(checks),
            from,
            to,
            arguments.shapes(),
            large);
    return new CachedProgram(arguments.model(), program, settings);
  }

  private static Extent extent(Decoder in) throws WireFormatException {
    return new Extent(in.int64(), in.int64());
  }

  private static Range range(Decoder in) throws WireFormatException {
    return new Range(in.int64(), in.int64());
  }

  private static Argument[] arguments(Decoder in, int count) throws WireFormatException {
    Argument[] arguments = new Argument[count];
    for (int i = 0; i < count; i++) {
      arguments[i] = in.optional(one -> new Argument(range(one), one.ints())).orElse(null);
    }
    return arguments;
  }
}
