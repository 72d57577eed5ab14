// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.model.OperandType;
import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Which kernels a device has: by operation and element type, and where a kernel takes only some
 * forms, by a condition. What a device claims and what it runs come from the same table. Immutable.
 */
public final class KernelTable {
  private final Map<Key, List<Entry>> entries;

  private KernelTable(Map<Key, List<Entry>> entries) {
    this.entries = entries;
  }

  /** An empty table to be filled. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The first kernel that takes this operation.
   *
   * @param type the operation's {@code OperationDefinition.kernelType}
   */
  public Optional<KernelFactory> find(OperandType type, OperationView operation) {
    for (Entry entry : entries.getOrDefault(new Key(operation.type(), type), List.of())) {
      if (entry.condition().test(operation)) {
        return Optional.of(entry.factory());
      }
    }
    return Optional.empty();
  }

  /** The operations and types that the table has a kernel for. */
  public Set<Key> keys() {
    return entries.keySet();
  }

  /** An operation on elements of a type. */
  public record Key(OperationType operation, OperandType type) {}

  private record Entry(Predicate<OperationView> condition, KernelFactory factory) {}

  /** Fills a table. Not thread-safe. */
  public static final class Builder {
    private final Map<Key, List<Entry>> entries = new HashMap<>();

    private Builder() {}

    /** A kernel for every form of an operation on elements of these types. */
    public Builder add(OperationType operation, KernelFactory factory, OperandType... types) {
      return add(operation, view -> true, factory, types);
    }

    /** A kernel for the forms of an operation that meet a condition. */
    public Builder add(
        OperationType operation,
        Predicate<OperationView> condition,
        KernelFactory factory,
        OperandType... types) {
      for (OperandType type : types) {
        entries
            .computeIfAbsent(new Key(operation, type), key -> new ArrayList<>())
            .add(new Entry(condition, factory));
      }
      return this;
    }

    /** The table as filled so far. */
    public KernelTable build() {
      Map<Key, List<Entry>> copy = new HashMap<>();
      entries.forEach((key, list) -> copy.put(key, List.copyOf(list)));
      return new KernelTable(Map.copyOf(copy));
    }
  }
}
