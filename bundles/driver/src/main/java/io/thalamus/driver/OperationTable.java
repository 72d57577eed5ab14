// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.OperandType;
import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The implementations that a device has: by operation and element type, and where it takes only
 * some forms, by a condition. The claims of a device and its kernels come from the same table.
 * Immutable to the outside, and thread-safe; one of {@link Families} is filled as far as was looked
 * for.
 *
 * @param <T> what the table holds, for example {@link KernelFactory}
 */
public final class OperationTable<T> {
  private final Builder<T> entries;
  private final Families<T> families;
  private int added;

  private OperationTable(Builder<T> entries, Families<T> families) {
    this.entries = entries;
    this.families = families;
  }

  /** An empty table to be filled. */
  public static <T> Builder<T> builder() {
    return new Builder<>();
  }

  /**
   * A table that is filled family by family, until an operation is found: the JVM links each
   * implementation when it is added, and that of all together takes longer than to compile a usual
   * network.
   *
   * @param families the usual ones first; of two entries for the same forms the first one counts
   */
  public static <T> OperationTable<T> of(Families<T> families) {
    return new OperationTable<>(new Builder<>(), families);
  }

  /**
   * The first entry that takes this operation.
   *
   * @param type the operation's {@code OperationDefinition.kernelType}
   */
  public synchronized Optional<T> find(OperandType type, OperationView operation) {
    Key key = new Key(operation.type(), type);
    int tested = 0;
    do {
      List<Entry<T>> found = entries.entries.getOrDefault(key, List.of());
      for (; tested < found.size(); tested++) {
        if (found.get(tested).condition().test(operation)) {
          return Optional.of(found.get(tested).value());
        }
      }
    } while (addFamily());
    return Optional.empty();
  }

  private boolean addFamily() {
    return families.add(added++, entries);
  }

  /** The operations and types that the table has an entry for. */
  public synchronized Set<Key> keys() {
    while (addFamily()) {
      // until all are there
    }
    return Set.copyOf(entries.entries.keySet());
  }

  /** The operations that are in the table already, of a family that was looked for. */
  synchronized Set<Key> added() {
    return Set.copyOf(entries.entries.keySet());
  }

  /** What fills a table, for example one class for each kind of operations. */
  @FunctionalInterface
  public interface Families<T> {
    /**
     * Adds a family.
     *
     * @param number from 0 on
     * @return false if there is no family of this number, nor of a larger one
     */
    boolean add(int number, Builder<T> table);
  }

  /** An operation on elements of a type. */
  public record Key(OperationType operation, OperandType type) {
    // Written out, as the JVM takes milliseconds to derive them when they are first called.
    @Override
    public boolean equals(Object other) {
      return other instanceof Key that
          && that.operation.equals(operation)
          && that.type.equals(type);
    }

    @Override
    public int hashCode() {
      return 31 * operation.hashCode() + type.hashCode();
    }
  }

  private record Entry<T>(Predicate<OperationView> condition, T value) {}

  /** Fills a table. Not thread-safe. */
  public static final class Builder<T> {
    private final Map<Key, List<Entry<T>>> entries = new HashMap<>();

    private Builder() {}

    /** An entry for the forms of an operation on elements of these types that meet a condition. */
    public Builder<T> add(
        OperationType operation,
        Predicate<OperationView> condition,
        T value,
        OperandType... types) {
      Objects.requireNonNull(value, "value");
      for (OperandType type : types) {
        entries
            .computeIfAbsent(new Key(operation, type), key -> new ArrayList<>())
            .add(new Entry<>(condition, value));
      }
      return this;
    }

    /** The table as filled so far. */
    public OperationTable<T> build() {
      Builder<T> copy = new Builder<>();
      entries.forEach((key, list) -> copy.entries.put(key, List.copyOf(list)));
      return new OperationTable<>(copy, (number, table) -> false);
    }
  }
}
