#pragma once

/// Marks what `libkvedit` exports; everything else is hidden.
#define KVEDIT_API __attribute__((visibility("default")))
