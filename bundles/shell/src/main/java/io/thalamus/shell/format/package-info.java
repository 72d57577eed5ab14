// SPDX-License-Identifier: Apache-2.0
/** How results look: tables, bars, sizes, times, colours and JSON. Knows nothing of Gogo. */
package io.thalamus.shell.format;
