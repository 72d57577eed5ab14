// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.kernel.Cast;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.CheckedIndexes;
import io.thalamus.x86.kernel.Strided;
import io.thalamus.x86.kernel.WideFloats;
import io.thalamus.x86.kernel.WideIntegers;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;

/** Elements made elements of another type: CAST, and RESCALE. */
public final class Casting {
  /** Elements of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  private Casting() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    Rescaling.register(table);
    table.add(
        OperationCode.CAST,
        Casting::isPossible,
        (operation, operands, program) ->
            cast(
                type(operation.view().input(0).type()).orElseThrow(),
                operands.input(0),
                type(operation.view().output().type()).orElseThrow(),
                operands.output(),
                operation.inputShape(0).elementCount(),
                program),
        ElementTypes.numbersAndTruth());
    table.add(
        ThalamusExtension.CAST,
        Casting::isOfExtensionPossible,
        Casting::castOfExtension,
        ElementTypes.castable());
  }

  private static boolean isOfExtensionPossible(OperationView operation) {
    OperandType from = operation.input(0).type();
    OperandType to = operation.output().type();
    if (!Sizes.isPossible(operation.input(0))) {
      return false;
    }
    if (from.equals(WideTypes.TENSOR_INT64)) {
      return to == OperandCode.TENSOR_INT32 && operation.input(0).shape().elementCount() <= LONGEST;
    }
    if (from.equals(WideTypes.TENSOR_FLOAT64) || to.equals(WideTypes.TENSOR_FLOAT64)) {
      return from == OperandCode.TENSOR_FLOAT32 || to == OperandCode.TENSOR_FLOAT32;
    }
    if (to.equals(WideTypes.TENSOR_INT64)) {
      return type(from).filter(type -> !type.isFloat()).isPresent();
    }
    return type(from).isPresent() && type(to).isPresent();
  }

  private static void castOfExtension(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    OperandType from = operation.view().input(0).type();
    OperandType to = operation.view().output().type();
    Place source = operands.input(0);
    Place target = operands.output();
    boolean isNarrowed = from.equals(WideTypes.TENSOR_FLOAT64);
    if (isNarrowed || to.equals(WideTypes.TENSOR_FLOAT64)) {
      floats(isNarrowed, source, target, program);
    } else if (from.equals(WideTypes.TENSOR_INT64)) {
      narrow(source, target, program);
    } else if (to.equals(WideTypes.TENSOR_INT64)) {
      boolean isFirst = from == OperandCode.TENSOR_INT32;
      widen(isFirst ? source : widen(from, source, Type.INT32, program), target, program);
    } else {
      Type read = type(from).orElseThrow();
      long count = operation.inputShape(0).elementCount();
      cast(read, source, type(to).orElseThrow(), target, !read.isFloat(), count, program);
    }
  }

  /** Makes floats of 64 bits ones of 32, or the reverse. */
  private static void floats(
      boolean isNarrowed, Place source, Place target, ProgramBuilder program) {
    int read = isNarrowed ? Double.BYTES : Float.BYTES;
    int written = isNarrowed ? Float.BYTES : Double.BYTES;
    long count = source.bytes() / read;
    for (long at = 0; at < count; at += LONGEST) {
      WideFloats part = new WideFloats(isNarrowed, (int) Math.min(LONGEST, count - at));
      program.call(part, source.at(at * read), target.at(at * written));
    }
  }

  /** Makes integers of 32 bits ones of 64. */
  private static void widen(Place source, Place target, ProgramBuilder program) {
    long count = target.bytes() / Long.BYTES;
    for (long at = 0; at < count; at += LONGEST) {
      WideIntegers part = new WideIntegers(false, (int) Math.min(LONGEST, count - at));
      program.call(part, source.at(at * Integer.BYTES), target.at(at * Long.BYTES));
    }
  }

  /** Takes the lower halves of integers of 64 bits; a run that meets others fails. */
  private static void narrow(Place source, Place target, ProgramBuilder program) {
    int count = Math.toIntExact(target.bytes() / Integer.BYTES);
    Place status = program.place(CheckedIndexes.STATUS);
    program.call(new WideIntegers(true, count), source.at(0), status.at(0));
    program.check(status, 0, 0);
    program.call(
        new Strided(Integer.BYTES, count, Long.BYTES, Integer.BYTES, 0, 0),
        source.at(0),
        target.at(0));
  }

  /**
   * Adds an operation of floats of 32 bits, and of 16, which are computed in 32 as the reference
   * does.
   */
  static void addFloats(
      OperationTable.Builder<Lowering> table,
      OperationType code,
      Predicate<OperationView> isPossible,
      Lowering lowering) {
    table
        .add(code, isPossible, lowering, OperandCode.TENSOR_FLOAT32)
        .add(code, isPossible, inFloats(lowering), OperandCode.TENSOR_FLOAT16);
  }

  /** Returns a lowering that meets floats of 32 bits where the operation has some of 16. */
  static Lowering inFloats(Lowering lowering) {
    return (operation, operands, program) -> {
      WideOperands wide = new WideOperands(operation.view(), operands, program);
      lowering.lower(operation, wide, program);
      wide.results.forEach(
          (index, result) ->
              cast(
                  Type.FLOAT32,
                  result,
                  Type.FLOAT16,
                  operands.output(index),
                  result.bytes() / Float.BYTES,
                  program));
    };
  }

  /** The operands of an operation, those of 16 bits as floats of 32. */
  private static final class WideOperands implements Lowering.Operands {
    private final OperationView operation;
    private final Lowering.Operands operands;
    private final ProgramBuilder program;
    private final Map<Integer, Place> inputs = new HashMap<>();
    private final Map<Integer, Place> results = new TreeMap<>();

    WideOperands(OperationView operation, Lowering.Operands operands, ProgramBuilder program) {
      this.operation = operation;
      this.operands = operands;
      this.program = program;
    }

    @Override
    public Place input(int index) {
      OperandType type = operation.input(index).type();
      return type == OperandCode.TENSOR_FLOAT16
          ? inputs.computeIfAbsent(
              index, _ -> widen(type, operands.input(index), Type.FLOAT32, program))
          : operands.input(index);
    }

    @Override
    public Place output(int index) {
      return operation.outputs().get(index).type() == OperandCode.TENSOR_FLOAT16
          ? results.computeIfAbsent(
              index,
              _ ->
                  program.place(
                      operands.output(index).bytes() / Type.FLOAT16.size() * Type.FLOAT32.size()))
          : operands.output(index);
    }
  }

  private static boolean isPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && type(operation.input(0).type()).isPresent()
        && type(operation.output().type()).isPresent();
  }

  /** Returns the stored form of a type's elements. */
  static Optional<Type> type(OperandType type) {
    return type instanceof OperandCode code
        ? Optional.ofNullable(
            switch (code) {
              case TENSOR_FLOAT32 -> Type.FLOAT32;
              case TENSOR_FLOAT16 -> Type.FLOAT16;
              case TENSOR_INT32 -> Type.INT32;
              case TENSOR_QUANT16_SYMM -> Type.INT16;
              case TENSOR_QUANT16_ASYMM -> Type.UINT16;
              case TENSOR_BOOL8, TENSOR_QUANT8_ASYMM -> Type.UINT8;
              case TENSOR_QUANT8_ASYMM_SIGNED -> Type.INT8;
              default -> null;
            })
        : Optional.empty();
  }

  /** Writes the elements of a place as ones of another type. */
  static void cast(
      Type from, Place source, Type to, Place target, long count, ProgramBuilder program) {
    cast(from, source, to, target, false, count, program);
  }

  private static void cast(
      Type from,
      Place source,
      Type to,
      Place target,
      boolean isTruncated,
      long count,
      ProgramBuilder program) {
    for (long at = 0; at < count; at += LONGEST) {
      Cast cast = new Cast(from, to, isTruncated, (int) Math.min(LONGEST, count - at));
      program.call(cast, source.at(at * from.size()), target.at(at * to.size()));
    }
  }

  /** Returns a new place with the stored numbers of another one, in 32 bits. */
  static Place widen(OperandType type, Place source, Type to, ProgramBuilder program) {
    Type from = type(type).orElseThrow();
    long count = source.bytes() / from.size();
    Place wide = program.place(count * to.size());
    cast(from, source, to, wide, count, program);
    return wide;
  }
}
