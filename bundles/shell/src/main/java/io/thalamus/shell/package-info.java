// SPDX-License-Identifier: Apache-2.0
/** The Gogo commands of scope nn. */
package io.thalamus.shell;
