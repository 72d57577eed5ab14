// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Operations that move elements: of a known value at once, else by the operation of NNAPI that most
 * devices have, else by one of the extension, which take any type and any number of dimensions.
 */
class MoveOps extends Emitter {
  private static final int MAX_RANK = 4;

  MoveOps(DataFiles files, OperationCatalog catalog, Budget budget) {
    super(files, catalog, budget);
  }

  /** Returns whether NNAPI's operations on four dimensions take a value. */
  static boolean isPlain(Value value) {
    return value.rank() <= MAX_RANK && (value.type().isFloat() || value.type().is8Bit());
  }

  /** The same elements in another shape. */
  Value reshape(Value value, int... shape) {
    require(
        value.count() == Dims.count(shape),
        "the elements of " + value.text() + " do not fill the shape " + Dims.text(shape));
    if (value.isConstant() || isSameShape(value.shape(), shape)) {
      return value.as(shape);
    }
    int[] target = physical(shape).toArray();
    Value result =
        isPlain(value)
            ? emit(value.type(), OperationCode.RESHAPE, operand(value), int32Vector(target))
            : strided(value, target, Dims.strides(target), 0);
    return result.as(shape);
  }

  /** A vector of all elements. */
  Value flat(Value value) {
    return reshape(value, value.count());
  }

  /** The elements at places that are counted by strides. */
  Value view(Value value, int[] size, int[] strides, int offset) {
    if (value.isConstant()) {
      return Value.of(
          Dims.count(size) == value.count()
              ? permuted(value.constant(), size, strides, offset)
              : value.constant().view(size, strides, offset, budget()));
    }
    require(!value.isOpen(), value.text() + " has a size that only an execution tells");
    if (Dims.count(size) == 0) {
      return fill(value.type(), size, 0);
    }
    return size.length == 0
        ? strided(value, new int[] {1}, new int[] {1}, offset).as()
        : strided(value, size, strides, offset);
  }

  /** As many elements: a part of a constant may be another for each shape of the inputs. */
  private Tensor permuted(Tensor tensor, int[] size, int[] strides, int offset) {
    MemorySegment bytes =
        made(
            tensor.bytes(),
            tensor.bytes().byteSize(),
            List.of(tensor.type(), Arrays.toString(size), Arrays.toString(strides), offset),
            () -> tensor.view(size, strides, offset, budget()).bytes());
    return new Tensor(tensor.type(), size, bytes);
  }

  private Value strided(Value value, int[] size, int[] strides, int offset) {
    return emit(
        value.type(),
        ThalamusExtension.AS_STRIDED,
        operand(value),
        int32Vector(size),
        int32Vector(strides),
        int32(offset));
  }

  /** The dimensions in another order. */
  Value transpose(Value value, int... order) {
    int[] size = Dims.permute(value.shape(), order);
    if (Dims.isInOrder(value.shape(), order)) {
      return reshape(value, size);
    }
    if (value.grid() != null) {
      return Value.onGrid(transpose(value.bytes(), order), value.grid().permuted(order), budget());
    }
    if (value.isConstant() || !isPlain(value)) {
      return view(value, size, Dims.permute(Dims.strides(value.shape()), order), 0);
    }
    return emit(value.type(), OperationCode.TRANSPOSE, operand(value), int32Vector(order));
  }

  /** The dimensions with some axes moved behind all others. */
  Value toEnd(Value value, int... axes) {
    return transpose(value, Dims.join(others(value.rank(), axes), axes));
  }

  /** All axes but these. */
  static int[] others(int rank, int... axes) {
    return Arrays.stream(Dims.range(rank))
        .filter(axis -> Arrays.stream(axes).noneMatch(each -> each == axis))
        .toArray();
  }

  /** The elements repeated to a shape. */
  Value expand(Value value, int... shape) {
    if (Arrays.equals(value.shape(), shape)) {
      return value;
    }
    require(
        Arrays.equals(Dims.broadcast(value.shape(), shape), shape),
        value.text() + " does not broadcast to " + Dims.text(shape));
    return isSameShape(value.shape(), shape)
        ? value.as(shape)
        : view(value, shape, Dims.broadcastStrides(value.shape(), shape), 0);
  }

  /** The slices along an axis whose numbers a value holds; none is negative. */
  Value gather(Value value, int axis, Value indexes) {
    int[] shape =
        Dims.join(
            Arrays.copyOf(value.shape(), axis),
            indexes.shape(),
            Arrays.copyOfRange(value.shape(), axis + 1, value.rank()));
    if (indexes.isConstant()) {
      for (long index : indexes.constant().integers()) {
        require(
            index >= 0 && index < value.dim(axis),
            "index %s is not one of %s".formatted(index, value.dim(axis)));
      }
      if (value.isConstant()) {
        return gatherKnown(value, axis, indexes.constant(), shape);
      }
      if (indexes.count() == 0) {
        return fill(value.type(), shape, 0);
      }
      if (indexes.count() == 1) {
        return reshape(part(value, axis, (int) indexes.constant().integer(0), 1), shape);
      }
    }
    int index = operand(indexes);
    if (value.type() == DataType.BOOL) {
      require(axis == 0, "truth values can be gathered along the first axis alone");
      Value column = reshape(indexes, Dims.insert(indexes.shape(), indexes.rank(), 1));
      return reshape(
          emit(value.type(), ThalamusExtension.GATHER_ND, operand(value), operand(column)), shape);
    }
    return reshape(
        emit(value.type(), OperationCode.GATHER, operand(value), int32(axis), index), shape);
  }

  private Value gatherKnown(Value value, int axis, Tensor indexes, int[] shape) {
    int inner = Dims.count(value.shape(), axis + 1, value.rank());
    int outer = Dims.count(value.shape(), 0, axis);
    int[] places = budget().ints(Dims.count(shape));
    int next = 0;
    for (int i = 0; i < outer; i++) {
      for (int k = 0; k < indexes.count(); k++) {
        int first = (i * value.dim(axis) + (int) indexes.integer(k)) * inner;
        for (int j = 0; j < inner; j++) {
          places[next++] = first + j;
        }
      }
    }
    Tensor taken = value.constant().take(shape, places, budget());
    budget().release((long) Integer.BYTES * places.length);
    return Value.of(taken);
  }

  /** The same value where a condition holds; where it does not, the execution fails. */
  Value only(Value value, Value condition) {
    Value place = constant(DataType.INT32, new int[] {1}, 0);
    Value none = constant(DataType.INT32, new int[] {1}, 1);
    Value isHeld = reshape(condition, 1);
    Value chosen =
        isHeld.isConstant()
            ? isHeld.constant().integer(0) != 0 ? place : none
            : emit(
                DataType.INT32,
                OperationCode.SELECT,
                operand(isHeld),
                operand(place),
                operand(none));
    Value whole = reshape(value, 1, value.count());
    return reshape(gather(whole, 0, chosen), value.shape());
  }

  /** For each dimension a number of elements from one on, with a step that may be negative. */
  Value slice(Value value, int[] starts, int[] steps, int[] sizes) {
    if (Arrays.equals(sizes, value.shape()) && Arrays.stream(steps).allMatch(step -> step == 1)) {
      return value;
    }
    if (!value.isConstant()
        && value.type() != DataType.BOOL
        && Dims.count(sizes) > 0
        && Arrays.stream(steps).allMatch(step -> step == 1)) {
      return emit(
          value.type(),
          OperationCode.SLICE,
          operand(value),
          int32Vector(starts),
          int32Vector(sizes));
    }
    int[] strides = Dims.strides(value.shape());
    int offset = 0;
    for (int i = 0; i < strides.length; i++) {
      offset += sizes[i] == 0 ? 0 : starts[i] * strides[i];
      strides[i] *= steps[i];
    }
    return view(value, sizes, strides, offset);
  }

  /** Neighbours along one axis. */
  Value part(Value value, int axis, int start, int size) {
    int[] starts = Dims.with(new int[value.rank()], axis, start);
    int[] steps = Dims.ones(value.rank());
    return slice(value, starts, steps, Dims.with(value.shape(), axis, size));
  }

  /** The slice at one place of an axis, without the axis. */
  Value at(Value value, int axis, int place) {
    return reshape(part(value, axis, place, 1), Dims.remove(value.shape(), axis));
  }

  /** The elements along an axis in reverse order. */
  Value reverse(Value value, int axis) {
    int[] starts = Dims.with(new int[value.rank()], axis, value.dim(axis) - 1);
    int[] steps = Dims.with(Dims.ones(value.rank()), axis, -1);
    return slice(value, starts, steps, value.shape());
  }

  /** Values one after the other along an axis. */
  Value concat(List<Value> values, int axis) {
    require(!values.isEmpty(), "it joins no values");
    List<Value> parts = values.stream().filter(value -> value.dim(axis) > 0).toList();
    if (parts.isEmpty()) {
      return values.getFirst();
    }
    if (parts.size() == 1) {
      return parts.getFirst();
    }
    int size = 0;
    for (Value part : parts) {
      require(
          part.rank() == parts.getFirst().rank()
              && Arrays.equals(
                  Dims.with(part.shape(), axis, 0), Dims.with(parts.getFirst().shape(), axis, 0)),
          "%s and %s differ beside axis %s".formatted(parts.getFirst().text(), part.text(), axis));
      size = Math.addExact(size, part.dim(axis));
    }
    if (parts.stream().allMatch(Value::isConstant)) {
      return Value.of(
          Tensor.concat(
              parts.stream().map(Value::constant).toList(),
              axis,
              Dims.with(parts.getFirst().shape(), axis, size),
              budget()));
    }
    List<Integer> inputs = new ArrayList<>();
    for (Value part : parts) {
      inputs.add(operand(part));
    }
    inputs.add(int32(axis));
    return emit(
            parts.stream().allMatch(MoveOps::isPlain)
                ? OperationCode.CONCATENATION
                : ThalamusExtension.CONCATENATION,
            inputs,
            parts.getFirst().type())
        .getFirst();
  }

  /** Values of one shape as the slices of a new axis. */
  Value stack(List<Value> values, int axis) {
    List<Value> parts =
        values.stream().map(value -> reshape(value, Dims.insert(value.shape(), axis, 1))).toList();
    return concat(parts, axis);
  }

  /** The value with a number around it; negative amounts cut off. */
  Value pad(Value value, int[] before, int[] after, double number) {
    int[] starts = new int[value.rank()];
    int[] sizes = value.shape().clone();
    int[] more = new int[2 * value.rank()];
    boolean isPadded = false;
    for (int i = 0; i < sizes.length; i++) {
      starts[i] = Math.max(0, -before[i]);
      sizes[i] = sizes[i] - starts[i] - Math.max(0, -after[i]);
      require(sizes[i] >= 0, "it cuts off more than there is");
      more[2 * i] = Math.max(0, before[i]);
      more[2 * i + 1] = Math.max(0, after[i]);
      isPadded |= more[2 * i] > 0 || more[2 * i + 1] > 0;
    }
    Value inner = slice(value, starts, Dims.ones(value.rank()), sizes);
    if (!isPadded) {
      return inner;
    }
    if (inner.isConstant() || !isPlain(inner) || inner.type().is8Bit()) {
      return padByParts(inner, more, number);
    }
    int paddings = operand(integers(new int[] {value.rank(), 2}, more));
    return number == 0
        ? emit(inner.type(), OperationCode.PAD, operand(inner), paddings)
        : emit(inner.type(), OperationCode.PAD_V2, operand(inner), paddings, real(number));
  }

  private Value padByParts(Value value, int[] more, double number) {
    Value padded = value;
    for (int axis = 0; axis < value.rank(); axis++) {
      if (more[2 * axis] + more[2 * axis + 1] > 0) {
        boolean isFull = Dims.count(Dims.with(value.shape(), axis, 1)) > 0;
        require(isFull || !value.isOpen(), "it pads " + value.text());
        padded =
            concat(
                List.of(
                    fill(value.type(), Dims.with(padded.shape(), axis, more[2 * axis]), number),
                    padded,
                    fill(
                        value.type(), Dims.with(padded.shape(), axis, more[2 * axis + 1]), number)),
                axis);
      }
    }
    return padded;
  }
}
