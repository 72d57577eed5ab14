// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

/** Who made a compilation and looks after it. Thread-safe; outlives its compilations. */
interface CompilationOwner {
  /** Looks after nothing: what it owns is never planned again. */
  CompilationOwner NONE =
      new CompilationOwner() {
        @Override
        public double samplingRate() {
          return 0;
        }

        @Override
        public void outdated(CompilationImpl compilation) {
          // Its plan is the only one it will have.
        }

        @Override
        public boolean isReplanning(CompilationImpl compilation) {
          return false;
        }

        @Override
        public void closed(CompilationImpl compilation) {
          // Nobody keeps it.
        }
      };

  /** The share of executions to compare with the reference, where the options say nothing. */
  double samplingRate();

  /** The compilation wants to be planned again. */
  void outdated(CompilationImpl compilation);

  /** Whether the compilation waits for another plan. */
  boolean isReplanning(CompilationImpl compilation);

  /** The compilation was closed; told once. */
  void closed(CompilationImpl compilation);
}
