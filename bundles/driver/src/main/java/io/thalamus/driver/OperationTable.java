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
 * Immutable.
 *
 * @param <T> what the table holds, for example {@link KernelFactory}
 */
public final class OperationTable<T> {
  private final Map<Key, List<Entry<T>>> entries;

  private OperationTable(Map<Key, List<Entry<T>>> entries) {
    this.entries = entries;
  }

  /** An empty table to be filled. */
  public static <T> Builder<T> builder() {
    return new Builder<>();
  }

  /**
   * The first entry that takes this operation.
   *
   * @param type the operation's {@code OperationDefinition.kernelType}
   */
  public Optional<T> find(OperandType type, OperationView operation) {
    for (Entry<T> entry : entries.getOrDefault(new Key(operation.type(), type), List.of())) {
      if (entry.condition().test(operation)) {
        return Optional.of(entry.value());
      }
    }
    return Optional.empty();
  }

  /** The operations and types that the table has an entry for. */
  public Set<Key> keys() {
    return entries.keySet();
  }

  /** An operation on elements of a type. */
  public record Key(OperationType operation, OperandType type) {}

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
      Map<Key, List<Entry<T>>> copy = new HashMap<>();
      entries.forEach((key, list) -> copy.put(key, List.copyOf(list)));
      return new OperationTable<>(Map.copyOf(copy));
    }
  }
}
