// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.operations.Activation.Exponential;
import io.thalamus.operations.Elementwise.Plain;
import io.thalamus.operations.FusedActivation;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.ElementFunction.Paired;
import io.thalamus.x86.kernel.ElementFunction.Single;
import io.thalamus.x86.kernel.FunctionSource;
import io.thalamus.x86.kernel.Mapped;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Pairs;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/** Arithmetic on floats and integers, functions of floats, and other names for a tensor. */
public final class Elementwise {
  /** Floats of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  static final Lowering ALIAS =
      new Lowering() {
        @Override
        public void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program) {
          throw new IllegalStateException("an alias has no calls");
        }

        @Override
        public boolean isAlias() {
          return true;
        }
      };

  private Elementwise() {}

  /** Adds the operations to a table. */
  public static void register(OperationTable.Builder<Lowering> table) {
    pair(table, OperationCode.ADD, Pair.ADD);
    pair(table, OperationCode.SUB, Pair.SUB);
    pair(table, OperationCode.MUL, Pair.MUL);
    pair(table, OperationCode.DIV, Pair.DIV);
    pair(table, OperationCode.MAXIMUM, Pair.MAXIMUM);
    pair(table, OperationCode.MINIMUM, Pair.MINIMUM);
    pair(table, OperationCode.PRELU, Pair.PRELU);
    pair(table, ThalamusExtension.SQUARED_DIFFERENCE, Pair.SQUARED_DIFFERENCE);
    pair(table, ThalamusExtension.FLOOR_DIV, Pair.FLOOR_DIV);
    Casting.addFloats(
        table,
        OperationCode.POW,
        BroadcastRuns::isPossible,
        new ElementLowering(Elementwise::power));
    integers(table, OperationCode.ADD, Pair.INT_ADD);
    integers(table, OperationCode.SUB, Pair.INT_SUB);
    integers(table, OperationCode.MUL, Pair.INT_MUL);
    integers(table, OperationCode.MAXIMUM, Pair.INT_MAXIMUM);
    integers(table, OperationCode.MINIMUM, Pair.INT_MINIMUM);
    integers(table, ThalamusExtension.SQUARED_DIFFERENCE, Pair.INT_SQUARED_DIFFERENCE);
    integers(table, OperationCode.DIV, Pair.INT_FLOOR_DIV);
    integers(table, ThalamusExtension.BITWISE_XOR, Pair.INT_XOR);
    integers(table, ThalamusExtension.RIGHT_SHIFT, Pair.INT_RIGHT_SHIFT);
    table.add(
        ThalamusExtension.FLOOR_DIV,
        operation -> BroadcastRuns.isPossible(operation) && isNeverZero(operation.input(1)),
        lowering(Pair.INT_FLOOR_DIV),
        TENSOR_INT32);
    integers(table, OperationCode.ABS, Kind.INT_ABS);
    integers(table, OperationCode.NEG, Kind.INT_NEG);
    clamp(table, OperationCode.RELU, FusedActivation.RELU);
    clamp(table, OperationCode.RELU1, FusedActivation.RELU1);
    clamp(table, OperationCode.RELU6, FusedActivation.RELU6);
    map(table, OperationCode.LOGISTIC, Kind.LOGISTIC);
    map(table, OperationCode.TANH, Kind.TANH);
    map(table, OperationCode.HARD_SWISH, Kind.HARD_SWISH);
    map(table, OperationCode.ABS, Kind.ABS);
    map(table, OperationCode.NEG, Kind.NEG);
    map(table, OperationCode.SQRT, Kind.SQRT);
    map(table, OperationCode.RSQRT, Kind.RSQRT);
    map(table, OperationCode.EXP, Kind.EXP);
    map(table, OperationCode.LOG, Kind.LOG);
    map(table, OperationCode.SIN, Kind.SIN);
    map(table, OperationCode.FLOOR, Kind.FLOOR);
    map(table, ThalamusExtension.ERF, Kind.ERF);
    Casting.addFloats(
        table,
        OperationCode.ELU,
        operation -> Sizes.isPossible(operation.input(0)) && operation.input(1).value().isPresent(),
        new ElementLowering(
            operation -> new Single(Kind.ELU, operation.parameters(Exponential.class).alpha())));
    for (OperationCode code :
        new OperationCode[] {
          OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
        }) {
      table.add(code, Elementwise::isAliasPossible, ALIAS, Moving.TYPES);
    }
  }

  /** Returns true if no run can meet a 0, which is for the reference to refuse. */
  private static boolean isNeverZero(OperandView divisor) {
    return divisor.value().isPresent()
        && Arrays.stream(divisor.int32s()).noneMatch(number -> number == 0);
  }

  private static boolean isAliasPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0)) && operation.hasValuesWhereGiven(1);
  }

  /** Writes what a function makes of each 32 bits of a place. */
  static void map(
      IntFunction<FunctionSource> function, Place from, Place to, ProgramBuilder program) {
    long count = from.bytes() / Float.BYTES;
    for (long at = 0; at < count; at += LONGEST) {
      int length = (int) Math.min(LONGEST, count - at);
      program.call(function.apply(length), from.at(at * Float.BYTES), to.at(at * Float.BYTES));
    }
  }

  /** Writes what a function makes of each float of a place. */
  static void map(Kind kind, Place from, Place to, ProgramBuilder program) {
    map(count -> new Mapped(kind, count), from, to, program);
  }

  private static void map(OperationTable.Builder<Lowering> table, OperationType code, Kind kind) {
    single(table, code, new Single(kind, 0));
  }

  private static void clamp(
      OperationTable.Builder<Lowering> table, OperationCode code, FusedActivation activation) {
    single(table, code, new Paired(Pair.FIRST, activation));
  }

  /** Adds a function of single floats. */
  private static void single(
      OperationTable.Builder<Lowering> table, OperationType code, ElementFunction function) {
    Casting.addFloats(
        table,
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        new ElementLowering(_ -> function));
  }

  /** Writes the floats of a place within the bounds of an activation. */
  static void clamp(FusedActivation activation, Place from, Place to, ProgramBuilder program) {
    map(count -> new Pairs(Pair.FIRST, count, false, false, activation), from, to, program);
  }

  private static void pair(OperationTable.Builder<Lowering> table, OperationType code, Pair pair) {
    Casting.addFloats(table, code, BroadcastRuns::isPossible, lowering(pair));
  }

  private static void integers(
      OperationTable.Builder<Lowering> table, OperationType code, Pair pair) {
    table.add(code, BroadcastRuns::isPossible, lowering(pair), TENSOR_INT32);
  }

  private static void integers(
      OperationTable.Builder<Lowering> table, OperationCode code, Kind kind) {
    table.add(
        code,
        operation -> Sizes.isPossible(operation.input(0)),
        new ElementLowering(_ -> new Single(kind, 0)),
        TENSOR_INT32);
  }

  private static Lowering lowering(Pair pair) {
    return new ElementLowering(operation -> new Paired(pair, activation(operation)));
  }

  private static FusedActivation activation(ResolvedOperation operation) {
    return operation.parameters() instanceof Plain plain
        ? plain.activation()
        : FusedActivation.NONE;
  }

  /** Powers by numbers that are common go without logarithms. */
  private static ElementFunction power(ResolvedOperation operation) {
    float exponent = exponent(operation).orElse(Float.NaN);
    if (exponent == 2 || exponent == 3) {
      return new Single(exponent == 2 ? Kind.SQUARE : Kind.CUBE, 0);
    }
    return new Paired(Pair.POW, FusedActivation.NONE);
  }

  private static Optional<Float> exponent(ResolvedOperation operation) {
    OperandView second = operation.view().input(1);
    return second.type() == TENSOR_FLOAT32
            && second.value().isPresent()
            && second.shape().elementCount() == 1
        ? Optional.of(second.float32())
        : Optional.empty();
  }

  /** Writes the products of two places of one size. */
  static void multiply(Place first, Place second, Place to, ProgramBuilder program) {
    long count = first.bytes() / Float.BYTES;
    for (long at = 0; at < count; at += LONGEST) {
      int length = (int) Math.min(LONGEST, count - at);
      long from = at * Float.BYTES;
      Pairs pairs = new Pairs(Pair.MUL, length, false, false, FusedActivation.NONE);
      program.call(pairs, first.at(from), to.at(from), second.at(from));
    }
  }

  /** Writes what a function makes of two places that hold an operation's inputs. */
  static void pairs(
      Pair pair,
      ResolvedOperation operation,
      Place first,
      Place second,
      Place result,
      ProgramBuilder program) {
    pairs(
        new Paired(pair, activation(operation)),
        new Tensor(first, operation.inputShape(0)),
        new Tensor(second, operation.inputShape(1)),
        new Tensor(result, operation.outputShape(0)),
        program);
  }

  /** Writes what a function makes of two tensors that are brought to one shape. */
  static void pairs(Pair pair, Tensor first, Tensor second, Tensor result, ProgramBuilder program) {
    pairs(new Paired(pair, FusedActivation.NONE), first, second, result, program);
  }

  private static void pairs(
      Paired function, Tensor first, Tensor second, Tensor result, ProgramBuilder program) {
    ElementChain chain = new ElementChain();
    chain.add(function, List.of(first, second), result.place());
    chain.lower(result.place(), result.shape(), program);
  }
}
